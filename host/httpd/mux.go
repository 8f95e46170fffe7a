package httpd

import "net/http"

// Mux is an http.ServeMux that answers with a Problem if it has no handler: 404, or 405 with the
// methods that there are in Allow.
type Mux struct{ http.ServeMux }

// ServeHTTP implements http.Handler.
func (m *Mux) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	none, pattern := m.Handler(r)
	if pattern != "" {
		m.ServeMux.ServeHTTP(rw, r)
		return
	}
	own := &silent{ResponseWriter: rw}
	if none.ServeHTTP(own, r); own.status == http.StatusMethodNotAllowed {
		Fail(rw, Refuse(own.status, "bad_method", "this address does not take "+Quote(r.Method), "use "+rw.Header().Get("Allow")))
		return
	}
	Fail(rw, Refuse(http.StatusNotFound, "not_found", "there is nothing here", ""))
}

// silent keeps the headers and the status of an answer, and writes nothing.
type silent struct {
	http.ResponseWriter
	status int
}

func (s *silent) WriteHeader(status int)       { s.status = status }
func (*silent) Write(text []byte) (int, error) { return len(text), nil }

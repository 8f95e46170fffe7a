package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/internal/refusal"
)

// maxBody is the size of the largest request body on the control socket, in
// bytes.
const maxBody = 64 << 10

// Server serves a Control on the control socket:
//
//	GET    /v1/status
//	GET    /v1/items?group=&failed=1&waiting=1&moving=1&oldest=1&all=1&limit=
//	GET    /v1/items/{id}
//	POST   /v1/items/{id}/retry
//	DELETE /v1/items/{id}
//	POST   /v1/send
//	GET    /v1/channels/{name}/chats
//	DELETE /v1/channels/{name}/account
//	GET    /v1/tasks?group=
//	POST   /v1/tasks/{id}/{verb}
//	POST   /v1/assistants/{group}/stop
//	POST   /v1/channels/{name}/link
//	POST   /v1/page
//	GET    /v1/environment?group=
//	GET    /v1/log?after=&group=&limit=
//	GET    /v1/audit?text=&event=&from=&to=&limit=
//	POST   /v1/notify/test
//	GET    /v1/pairing
//	POST   /v1/pairing/{code}
//
// and the paths of Health below /healthz and /metrics. Errors are a JSON object
// with code, message and hint.
//
// The caller has locked the outbox, which gives it the right to the socket.
type Server struct {
	Dir     string       // directory of the socket, see ControlDir
	Control Control      // what the socket offers
	Health  http.Handler // see Desk.Health; may be nil
	Runtime string       // directory for the socket if its own path would be too long; empty: from the environment
	Log     *slog.Logger // may be nil
}

// Run serves until ctx is done, which is no error, and removes the socket. All
// its goroutines have ended when it returns. If a host already answers on the
// socket, the error is ErrRunning.
func (s *Server) Run(ctx context.Context) error {
	ln, remove, err := listen(ctx, s.Dir, s.Runtime)
	if err != nil {
		return err
	}
	defer remove()
	log := s.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	srv := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(peerListener{ln, log}) }()
	select {
	case err = <-done:
		return fmt.Errorf("serve control socket: %w", err)
	case <-ctx.Done():
	}
	// The calls in progress end with ctx; their replies get one second.
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if srv.Shutdown(stop) != nil {
		_ = srv.Close()
	}
	<-done
	return nil
}

// peerListener only accepts connections of our own user and of root.
type peerListener struct {
	*net.UnixListener
	log *slog.Logger
}

func (l peerListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if peerAllowed(conn) {
			return conn, nil
		}
		l.log.Warn("refused a control connection of another user")
		_ = conn.Close()
	}
}

// Handler returns the control protocol without its socket.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, r *http.Request) {
		status, err := s.Control.Status(r.Context())
		reply(w, status, err)
	})
	mux.HandleFunc("GET /v1/items", func(w http.ResponseWriter, r *http.Request) {
		f, err := filterOf(r)
		if err != nil {
			reply(w, nil, err)
			return
		}
		items, err := s.Control.List(r.Context(), f)
		reply(w, items, err)
	})
	mux.HandleFunc("GET /v1/items/{id}", func(w http.ResponseWriter, r *http.Request) {
		item, err := s.Control.Show(r.Context(), r.PathValue("id"))
		reply(w, item, err)
	})
	mux.HandleFunc("POST /v1/items/{id}/retry", func(w http.ResponseWriter, r *http.Request) {
		reply(w, struct{}{}, s.Control.Retry(r.Context(), r.PathValue("id")))
	})
	for _, yes := range []bool{true, false} {
		mux.HandleFunc("POST /v1/items/{id}/"+answerOf(yes), func(w http.ResponseWriter, r *http.Request) {
			reply(w, struct{}{}, s.Control.Decide(r.Context(), r.PathValue("id"), yes))
		})
	}
	mux.HandleFunc("DELETE /v1/items/{id}", func(w http.ResponseWriter, r *http.Request) {
		reply(w, struct{}{}, s.Control.Drop(r.Context(), r.PathValue("id")))
	})
	mux.HandleFunc("GET /v1/channels/{name}/chats", func(w http.ResponseWriter, r *http.Request) {
		chats, err := s.Control.Chats(r.Context(), r.PathValue("name"))
		reply(w, chats, err)
	})
	mux.HandleFunc("DELETE /v1/channels/{name}/account", func(w http.ResponseWriter, r *http.Request) {
		reply(w, struct{}{}, s.Control.Unpair(r.Context(), r.PathValue("name")))
	})
	mux.HandleFunc("GET /v1/tasks", func(w http.ResponseWriter, r *http.Request) {
		all, err := s.Control.Tasks(r.Context(), r.URL.Query().Get("group"))
		reply(w, all, err)
	})
	mux.HandleFunc("POST /v1/tasks/{id}/{verb}", func(w http.ResponseWriter, r *http.Request) {
		answer, err := s.Control.OperateTask(r.Context(), r.PathValue("id"), r.PathValue("verb"))
		reply(w, answer, err)
	})
	mux.HandleFunc("GET /v1/links", func(w http.ResponseWriter, r *http.Request) {
		all, err := s.Control.Links(r.Context(), r.URL.Query().Get("group"))
		reply(w, all, err)
	})
	mux.HandleFunc("DELETE /v1/links/{id}", func(w http.ResponseWriter, r *http.Request) {
		reply(w, struct{}{}, s.Control.RevokeLink(r.Context(), r.PathValue("id")))
	})
	mux.HandleFunc("GET /v1/environment", func(w http.ResponseWriter, r *http.Request) {
		all, err := s.Control.Environment(r.Context(), r.URL.Query().Get("group"))
		reply(w, all, err)
	})
	s.addLive(mux)
	s.addTokens(mux)
	mux.HandleFunc("GET /v1/pairing", func(w http.ResponseWriter, r *http.Request) {
		codes, err := s.Control.Requests(r.Context())
		reply(w, codes, err)
	})
	mux.HandleFunc("POST /v1/pairing/{code}", func(w http.ResponseWriter, r *http.Request) {
		reply(w, struct{}{}, s.Control.Approve(r.Context(), r.PathValue("code")))
	})
	mux.HandleFunc("POST /v1/send", s.send)
	mux.HandleFunc("POST /v1/reload", func(w http.ResponseWriter, r *http.Request) {
		reloaded, err := s.Control.Reload(r.Context(), r.URL.Query().Get("remove") == "1")
		reply(w, reloaded, err)
	})
	if s.Health != nil {
		mux.Handle("GET /healthz", s.Health)
		mux.Handle("GET /metrics", s.Health)
	}
	return mux
}

// addLive adds the calls that only a running host answers, for the operator's page and the
// log.
func (s *Server) addLive(mux *http.ServeMux) {
	mux.HandleFunc("POST /v1/channels/{name}/link", func(w http.ResponseWriter, r *http.Request) {
		link, err := s.Control.Link(r.Context(), r.PathValue("name"))
		reply(w, link, err)
	})
	mux.HandleFunc("POST /v1/page", func(w http.ResponseWriter, r *http.Request) {
		page, err := s.Control.PageURL(r.Context())
		reply(w, page, err)
	})
	mux.HandleFunc("POST /v1/assistants/{group}/stop", func(w http.ResponseWriter, r *http.Request) {
		stopped, err := s.Control.StopAssistant(r.Context(), r.PathValue("group"))
		reply(w, stopped, err)
	})
	mux.HandleFunc("POST /v1/notify/test", func(w http.ResponseWriter, r *http.Request) {
		all, err := s.Control.NotifyTest(r.Context())
		reply(w, all, err)
	})
	mux.HandleFunc("GET /v1/log", s.log)
	mux.HandleFunc("GET /v1/audit", s.audit)
}

func (s *Server) send(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		reply(w, nil, badCall("the call is larger than "+strconv.Itoa(maxBody)+" bytes"))
		return
	}
	var call Send
	if err := json.Unmarshal(body, &call); err != nil || !utf8.Valid(body) {
		reply(w, nil, badCall("the call is not the JSON that was expected"))
		return
	}
	item, err := s.Control.Send(r.Context(), call)
	reply(w, item, err)
}

func filterOf(r *http.Request) (Filter, error) {
	q := r.URL.Query()
	is := func(name string) bool { return q.Get(name) == "1" }
	f := Filter{Group: q.Get("group"), Failed: is("failed"), Waiting: is("waiting"), Moving: is("moving"), Oldest: is("oldest"), All: is("all")}
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return f, badCall("limit is not a number")
		}
		f.Limit = n
	}
	return f, nil
}

func (s *Server) log(w http.ResponseWriter, r *http.Request) {
	q, err := logQueryOf(r.URL.Query())
	if err != nil {
		reply(w, nil, err)
		return
	}
	page, err := s.Control.Log(r.Context(), q)
	reply(w, page, err)
}

func badCall(message string) *refusal.Error {
	return &refusal.Error{Code: CodeBadCall, Message: message}
}

// reply writes v, or err as an Error. The operator may see the text of every
// error, as only the host's own user can reach the socket.
func reply(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		answer := refusal.Error{Code: codeInternal, Message: err.Error()}
		if r := refusal.Of(err); r != nil {
			answer = *r
		}
		w.WriteHeader(httpStatus(answer.Code))
		v = answer
	}
	json.NewEncoder(w).Encode(v) //nolint:errcheck // the caller went away
}

func httpStatus(code string) int {
	switch code {
	case CodeNotFound:
		return http.StatusNotFound
	case CodeUnwell:
		return http.StatusServiceUnavailable
	case CodeBadCall:
		return http.StatusBadRequest
	case CodeUnknownHost:
		return http.StatusMisdirectedRequest
	case CodeCrossSite:
		return http.StatusForbidden
	case codeInternal:
		return http.StatusInternalServerError
	}
	return http.StatusConflict
}

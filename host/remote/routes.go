package remote

import (
	"context"
	"net"
	"net/http"
	"net/netip"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
)

// ServeHTTP answers a request. Nothing of it but its header is read before its token is
// known.
func (s *Server) ServeHTTP(rw http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(rw, r) }

// authenticated passes the requests to next that show a token, with whom it stands for.
func (s *Server) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		token := httpd.Bearer(r)
		ctx, done := s.Begin(r.Context(), token)
		defer done()
		who, ok, err := s.Authenticate(ctx, token, peerOf(r))
		switch {
		case err != nil:
			s.fail(rw, err)
		case !ok:
			refuse(rw, tokens.ErrUnauthorized)
		case !s.gate.Admit(ctx, who.Folder):
			refuse(rw, errBusy)
		default:
			next.ServeHTTP(rw, r.WithContext(context.WithValue(ctx, callerKey{}, who)))
		}
	})
}

// refuse also ends the connection: it has shown no token, or there are too many.
func refuse(rw http.ResponseWriter, p *httpd.Problem) {
	rw.Header().Set("Connection", "close")
	httpd.Fail(rw, p)
}

// peerOf is the address that a request comes from; empty over a unix socket.
func peerOf(r *http.Request) string {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	at, err := netip.ParseAddr(host)
	if err != nil {
		return ""
	}
	return at.Unmap().String()
}

type callerKey struct{}

// call answers a request of an identity, unless it returns an error.
type call func(http.ResponseWriter, *http.Request, tokens.Identity) error

// mux has the call of each route.
func (s *Server) mux() http.Handler {
	mux := &httpd.Mux{}
	for pattern, do := range map[string]call{
		"GET /api/chat":                      s.chat,
		"POST /api/requests":                 s.takeRequest,
		"POST /api/send-media":               s.sendMedia,
		"POST " + mcpPath:                    s.serveMCP,
		"PUT /api/files/{id}":                s.takePiece,
		"HEAD /api/files/{id}":               s.askUpload,
		"DELETE /api/files/{id}":             s.dropUpload,
		"GET /api/deliveries/{id}":           s.result,
		"DELETE /api/deliveries/{id}":        s.cancel,
		"GET /api/inbox":                     s.inbox,
		"POST /api/inbox/{id}/ack":           s.ofMessage(s.ack),
		"POST /api/inbox/{id}/unheard":       s.ofMessage(s.unheard),
		"GET /api/inbox/{id}/files/{number}": s.ofMessage(s.messageFile),
		"POST /api/permissions":              s.askPermission,
		"GET /api/permissions/{id}":          s.permission,
	} {
		mux.HandleFunc(pattern, func(rw http.ResponseWriter, r *http.Request) {
			err := do(rw, r, r.Context().Value(callerKey{}).(tokens.Identity))
			if err != nil && tokens.Revoked(r.Context()) {
				err = tokens.ErrUnauthorized
			}
			if err != nil {
				s.fail(rw, err)
			}
		})
	}
	return mux
}

// chat answers with what the group's tools may tell. Without an assistant of the host's, no
// directory is shared.
func (s *Server) chat(rw http.ResponseWriter, _ *http.Request, who tokens.Identity) error {
	g, ok := s.Live.Registry().ByFolder(who.Folder)
	if !ok {
		return tokens.ErrUnauthorized
	}
	httpd.Answer(rw, http.StatusOK, s.about(g))
	return nil
}

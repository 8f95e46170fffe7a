package remote

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
)

// ServeHTTP answers a request. Nothing of it but its header is read before its token is
// known.
func (s *Server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	httpd.Harden(rw.Header())
	_ = http.NewResponseController(rw).SetWriteDeadline(time.Now().Add(s.Live.Wait() + s.Limits.Grace)) // recorders of tests have none
	if p := s.guard(r); p != nil {
		refuse(rw, p)
		return
	}
	token := bearer(r)
	ctx, done := s.Begin(r.Context(), token)
	defer done()
	r = r.WithContext(ctx)
	who, ok, err := s.Authenticate(ctx, token, peerOf(r))
	switch {
	case err != nil:
		s.fail(rw, err)
	case !ok:
		refuse(rw, tokens.ErrUnauthorized)
	case !s.gate.Admit(r.Context(), who.Folder):
		refuse(rw, errBusy)
	default:
		s.route(rw, r, who)
	}
}

// refuse also ends the connection: it has shown no token, or there are too many.
func refuse(rw http.ResponseWriter, p *httpd.Problem) {
	rw.Header().Set("Connection", "close")
	httpd.Fail(rw, p)
}

// guard refuses what a browser sends, and other names. No client of ours sends an Origin.
func (s *Server) guard(r *http.Request) *httpd.Problem {
	if !s.names.Has(r.Host) {
		return httpd.Refuse(http.StatusMisdirectedRequest, "unknown_host", "this server does not answer to the name "+httpd.Quote(r.Host), "use its own address, or have the operator add the name to remote.hosts")
	}
	if _, has := r.Header["Origin"]; has || httpd.Foreign(r) {
		return httpd.Refuse(http.StatusForbidden, "cross_site", "requests of web pages are refused", "call it from a program")
	}
	return nil
}

// bearer is the token of a request, empty if it has none or several.
func bearer(r *http.Request) string {
	all := r.Header.Values("Authorization")
	if len(all) != 1 {
		return ""
	}
	kind, token, _ := strings.Cut(all[0], " ")
	if !strings.EqualFold(kind, "Bearer") {
		return ""
	}
	return token
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

func (s *Server) route(rw http.ResponseWriter, r *http.Request, who tokens.Identity) {
	id, delivery := strings.CutPrefix(r.URL.Path, "/api/deliveries/")
	file, piece := strings.CutPrefix(r.URL.Path, "/api/files/")
	_, message := strings.CutPrefix(r.URL.Path, inboxPath+"/")
	var err error
	switch {
	case piece && (r.Method == http.MethodPut || r.Method == http.MethodHead):
		err = s.files(rw, r, who, file)
	case piece && r.Method == http.MethodDelete:
		err = s.dropUpload(rw, who, file)
	case r.URL.Path == "/api/requests" && r.Method == http.MethodPost:
		err = s.takeRequest(rw, r, who)
	case r.URL.Path == "/api/send-media" && r.Method == http.MethodPost:
		err = s.sendMedia(rw, r, who)
	case r.URL.Path == mcpPath:
		err = s.serveMCP(rw, r, who)
	case r.URL.Path == "/api/chat" && r.Method == http.MethodGet:
		err = s.chat(rw, who)
	case r.URL.Path == inboxPath && r.Method == http.MethodGet:
		err = s.inbox(rw, r, who)
	case r.URL.Path == permissionsPath && r.Method == http.MethodPost:
		err = s.askPermission(rw, r, who)
	case strings.HasPrefix(r.URL.Path, permissionsPath+"/") && r.Method == http.MethodGet:
		err = s.permission(rw, r, who)
	case message:
		err = s.message(rw, r, who)
	case delivery && r.Method == http.MethodGet:
		err = s.result(rw, r, who, id)
	case delivery && r.Method == http.MethodDelete:
		err = s.cancel(rw, r, who, id)
	default:
		err = errWhere
	}
	if err != nil && tokens.Revoked(r.Context()) {
		err = tokens.ErrUnauthorized
	}
	if err != nil {
		s.fail(rw, err)
	}
}

// chat answers with what the group's tools may tell. Without an assistant of the host's, no
// directory is shared.
func (s *Server) chat(rw http.ResponseWriter, who tokens.Identity) error {
	g, ok := s.Live.Registry().ByFolder(who.Folder)
	if !ok {
		return tokens.ErrUnauthorized
	}
	httpd.Answer(rw, http.StatusOK, s.about(g))
	return nil
}

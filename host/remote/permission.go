package remote

import (
	"io"
	"net/http"
	"regexp"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/ipc"
)

// maxPermission is the largest body of a question, in bytes.
const maxPermission = 16 << 10

// askPermission asks members whether the session may use a tool.
func (s *Server) askPermission(rw http.ResponseWriter, r *http.Request, who tokens.Identity) error {
	if s.Inbox == nil {
		return errNoInbox
	}
	asks, err := readPermission(s.Limits.Body(rw, r, maxPermission))
	if err != nil {
		return err
	}
	p, err := s.Inbox.AskPermission(r.Context(), who.Folder, who.Thread, asks)
	if err != nil {
		return err
	}
	httpd.Answer(rw, http.StatusOK, p)
	return nil
}

// permissionID is the form of an id that the session chooses.
var permissionID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// readPermission reads a question.
func readPermission(body io.Reader) (p ipc.Permission, err error) {
	b, err := io.ReadAll(body)
	if err != nil {
		return p, tooLarge(err, maxPermission)
	}
	fields, err := flatObject(b, []string{"id", "tool", "description", "input"})
	if err != nil {
		return p, err
	}
	if id := fields["id"]; id != "" && !permissionID.MatchString(id) {
		return p, httpd.Refuse(http.StatusBadRequest, ipc.CodeWrongValue, `"id" is not 32 lower-case hex digits`, "choose a random id, or leave it out")
	}
	if fields["tool"] == "" {
		return p, httpd.Refuse(http.StatusBadRequest, ipc.CodeWrongValue, `"tool" is missing`, "name the tool")
	}
	return ipc.Permission{ID: fields["id"], Tool: fields["tool"], Description: fields["description"], Input: fields["input"]}, nil
}

// permission answers with a question, after its answer or the time to wait.
func (s *Server) permission(rw http.ResponseWriter, r *http.Request, who tokens.Identity) error {
	wait, err := s.waitOf(r, 0)
	if err != nil {
		return err
	}
	if s.Inbox == nil {
		return errNoInbox
	}
	id := r.PathValue("id")
	p, err := s.Inbox.Permission(r.Context(), who.Folder, who.Thread, id, 0)
	if err == nil && p.Answer == "" && wait > 0 {
		if !s.asking.begin(who) {
			return errPolls
		}
		defer s.asking.end(who)
		p, err = s.Inbox.Permission(r.Context(), who.Folder, who.Thread, id, wait)
	}
	if err != nil {
		return err
	}
	if tokens.Revoked(r.Context()) {
		return tokens.ErrUnauthorized
	}
	httpd.Answer(rw, http.StatusOK, p)
	return nil
}

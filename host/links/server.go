package links

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/httpd"
)

// File is what a link leads to.
type File struct {
	Name    string // foreign text
	Size    int64  // bytes
	SHA256  string // lower-case hex
	Content io.ReadSeekCloser
}

// ErrNone is of a link that was never made, has expired or was revoked.
var ErrNone = errors.New("there is no such link")

// Files has the files of links.
type Files interface {
	// OpenLink opens the file of a link. The caller closes its Content. The error is ErrNone if there
	// is no such link.
	OpenLink(ctx context.Context, id string) (File, error)
}

// Server serves links below Path. It needs no cookie and sets none: the address is all.
type Server struct {
	Keys  *Keys
	Files Files
	Log   *slog.Logger

	gate gate
}

// ServeHTTP answers one request. Links that are unknown, forged, expired and revoked are
// answered alike.
func (s *Server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	h := rw.Header()
	httpd.Harden(h)
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("X-Robots-Tag", "noindex")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		httpd.Fail(rw, httpd.Refuse(http.StatusMethodNotAllowed, "bad_method", "a link can only be fetched", "open it in a browser"))
		return
	}
	// What is no link of this host is not counted: else a few who ask for made-up ones
	// would keep all others from theirs.
	id, ok := s.parse(r)
	if !ok {
		none(rw)
		return
	}
	leave := s.gate.enter(r, id, time.Now())
	if leave == nil {
		httpd.Fail(rw, httpd.Refuse(http.StatusTooManyRequests, "too_many_requests", "too many files are fetched at once", "try again in a minute"))
		return
	}
	defer leave()
	f, err := s.Files.OpenLink(r.Context(), id)
	switch {
	case errors.Is(err, ErrNone):
		none(rw)
		return
	case err != nil:
		s.Log.Error("serve a link", "error", err)
		httpd.Fail(rw, httpd.Refuse(http.StatusInternalServerError, "internal", "the file cannot be read at the moment", "try again later"))
		return
	}
	defer f.Content.Close()
	serve(rw, r, f)
}

func none(rw http.ResponseWriter) {
	httpd.Fail(rw, httpd.Refuse(http.StatusNotFound, "unknown_link", "there is no such file, or no longer", "ask in the chat for it again"))
}

// parse returns the id of a request's link, if this host has made it and it has not
// expired.
func (s *Server) parse(r *http.Request) (id string, ok bool) {
	token, ok := strings.CutPrefix(r.URL.Path, Path)
	if !ok {
		return "", false
	}
	id, expires, ok := s.Keys.Parse(token)
	return id, ok && time.Now().Before(expires)
}

// serve writes the file so that a browser only saves it, whole or the ranges that were
// asked for.
func serve(rw http.ResponseWriter, r *http.Request, f File) {
	h := rw.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("ETag", `"`+f.SHA256+`"`)
	disposition := mime.FormatMediaType("attachment", map[string]string{"filename": f.Name})
	if disposition == "" { // the name cannot be written there
		disposition = "attachment"
	}
	h.Set("Content-Disposition", disposition)
	http.ServeContent(rw, r, "", time.Time{}, f.Content)
}

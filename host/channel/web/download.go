package web

import (
	"errors"
	"io/fs"
	"mime"
	"net/http"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/httpd"
)

// pdfType is shown by the browser's own viewer if the page asks for it by viewQuery: in a frame
// without an origin and without scripts, which our pages alone may hold.
const (
	pdfType   = "application/pdf"
	viewQuery = "view"
)

// download serves a file so that nothing in it can run. Its type is detected from its
// content, and the browser may not guess another. Everything except plain pictures, sound
// and film is offered for saving only. If a file is opened as a page nevertheless, the
// sandbox denies it scripts and the origin.
func (w *Web) download(rw http.ResponseWriter, r *http.Request) error {
	f, err := w.store.File(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	// The name is part of the address, so that saving uses it. A different name in the
	// address would let a link misrepresent the file.
	if f == nil || f.Name != r.PathValue("name") {
		return w.noFile(r)
	}
	body, err := w.files.Open(r.Context(), f.ID, f.SHA256, f.Size)
	if errors.Is(err, fs.ErrNotExist) { // deleted just now, or by hand
		return w.noFile(r)
	}
	if t, ok := errors.AsType[*blob.Trouble](err); ok {
		w.log.Error("a file is not shown", "error", t.Cause)
		return httpd.Refuse(http.StatusServiceUnavailable, "files_away", "the file cannot be shown at the moment", "try again in a minute")
	}
	if err != nil {
		return err
	}
	defer body.Close()

	h := rw.Header()
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Cache-Control", "private, max-age=31536000, immutable") // a file's bytes never change
	h.Set("ETag", `"`+f.SHA256+`"`)
	disposition, kind := "attachment", "application/octet-stream"
	switch {
	case r.URL.RawQuery == viewQuery && f.BaseType() == pdfType:
		h.Set("Content-Security-Policy", "sandbox; default-src 'none'; frame-ancestors 'self'")
		h.Set("X-Frame-Options", "SAMEORIGIN")
		disposition, kind = "inline", pdfType
	case f.Inline:
		disposition, kind = "inline", f.BaseType()
	default:
		if t := f.BaseType(); t != "" && !activeType(t) {
			kind = t
		}
	}
	h.Set("Content-Type", kind)
	if v := mime.FormatMediaType(disposition, map[string]string{"filename": f.Name}); v != "" {
		disposition = v
	}
	h.Set("Content-Disposition", disposition)
	http.ServeContent(rw, r, "", time.Time{}, body)
	return nil
}

// noFile distinguishes a deleted file from one that never existed.
func (w *Web) noFile(r *http.Request) error {
	gone, err := w.store.FileGone(r.Context(), r.PathValue("id"))
	switch {
	case err != nil:
		return err
	case gone:
		return httpd.Refuse(http.StatusGone, "file_gone", "this chat no longer keeps the file", "ask for it again")
	}
	return httpd.Refuse(http.StatusNotFound, "unknown_file", "there is no such file", "use the url that the message gives")
}

// activeType reports whether a browser might run content of the type.
func activeType(t string) bool {
	switch t {
	case "text/html", "application/xhtml+xml", "image/svg+xml", "text/xml", "application/xml",
		"text/javascript", "application/javascript", "application/pdf", "application/x-shockwave-flash", "text/css", "multipart/related":
		return true
	}
	return len(t) > 4 && t[len(t)-4:] == "+xml"
}

package web

import (
	"errors"
	"io/fs"
	"mime"
	"net/http"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/httpd"
)

// download serves a file so that nothing in it can run: its type is the one
// that its content has, the browser may not guess another, whatever is not a
// plain picture, sound or film is only offered for saving, and the sandbox
// takes scripts and the origin away from a file that is opened as a page
// nevertheless.
func (w *Web) download(rw http.ResponseWriter, r *http.Request) {
	f, err := w.store.file(r.Context(), r.PathValue("id"))
	if err != nil {
		w.internal(rw, r, err)
		return
	}
	// The name is part of the address so that saving keeps it; another name
	// would let a link claim that the file is something else.
	if f == nil || f.Name != r.PathValue("name") {
		w.noFile(rw, r)
		return
	}
	body, err := w.blobs.Open(f.ID)
	if errors.Is(err, fs.ErrNotExist) { // deleted just now, or by hand
		w.noFile(rw, r)
		return
	}
	if err != nil {
		w.internal(rw, r, err)
		return
	}
	defer body.Close()

	h := rw.Header()
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Cache-Control", "private, max-age=31536000, immutable") // a file's bytes never change
	h.Set("ETag", `"`+f.SHA256+`"`)
	disposition, kind := "attachment", "application/octet-stream"
	switch {
	case r.URL.RawQuery == viewQuery && baseType(f.MIME) == pdfType:
		viewable(h)
		disposition, kind = "inline", pdfType
	case f.Inline:
		disposition, kind = "inline", baseType(f.MIME)
	default:
		if t := baseType(f.MIME); t != "" && !activeType(t) {
			kind = t
		}
	}
	h.Set("Content-Type", kind)
	if v := mime.FormatMediaType(disposition, map[string]string{"filename": f.Name}); v != "" {
		disposition = v
	}
	h.Set("Content-Disposition", disposition)
	// Recorders of tests have no deadlines.
	_ = http.NewResponseController(rw).SetWriteDeadline(httpd.Due(time.Now(), f.Size))
	http.ServeContent(rw, r, "", time.Time{}, body)
}

// noFile tells a file that is no longer kept from one that never was.
func (w *Web) noFile(rw http.ResponseWriter, r *http.Request) {
	gone, err := w.store.fileGone(r.Context(), r.PathValue("id"))
	switch {
	case err != nil:
		w.internal(rw, r, err)
	case gone:
		httpd.Fail(rw, httpd.Refuse(http.StatusGone, "file_gone", "this chat no longer keeps the file", "ask for it again"))
	default:
		httpd.Fail(rw, httpd.Refuse(http.StatusNotFound, "unknown_file", "there is no such file", "use the url that the message gives"))
	}
}

// activeType says that a browser might run what a file of the type holds.
func activeType(t string) bool {
	switch t {
	case "text/html", "application/xhtml+xml", "image/svg+xml", "text/xml", "application/xml",
		"text/javascript", "application/javascript", "application/pdf", "application/x-shockwave-flash", "text/css", "multipart/related":
		return true
	}
	return len(t) > 4 && t[len(t)-4:] == "+xml"
}

package web

import "net/http"

// A PDF is shown by the browser's own viewer if the page asks for it so: in a frame
// without an origin and without scripts, which our pages alone may hold.
const (
	viewQuery = "view"
	pdfType   = "application/pdf"
)

func viewable(h http.Header) {
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; frame-ancestors 'self'")
	h.Set("X-Frame-Options", "SAMEORIGIN")
}

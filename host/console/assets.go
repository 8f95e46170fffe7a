package console

import (
	"bytes"
	"embed"
	"net/http"
	"path"
	"time"
)

//go:embed assets
var assets embed.FS

var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// serveAsset serves one file of the page. It holds nothing of the host.
func serveAsset(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		mime := types[path.Ext(name)]
		body, err := assets.ReadFile("assets/" + name)
		if err != nil || mime == "" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", mime)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
	}
}

package console

import (
	"embed"
	"net/http"

	"github.com/longshore-bridge/longshore/host/httpd"
)

//go:embed assets
var assets embed.FS

// serveAsset serves one file of the page. It holds nothing of the host.
func serveAsset(w http.ResponseWriter, r *http.Request, name string) {
	httpd.ServeAsset(w, r, assets, "assets/"+name)
}

package httpd

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"time"
)

// assetTypes are the types of the files of pages, by extension.
var assetTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".png":  "image/png",

	".webmanifest": "application/manifest+json",
}

// ServeAsset answers with a file of a page. Browsers keep it, but ask for it again: a new host brings
// new ones.
func ServeAsset(rw http.ResponseWriter, r *http.Request, files fs.FS, name string) {
	body, err := fs.ReadFile(files, name)
	mime := assetTypes[path.Ext(name)]
	if err != nil || mime == "" {
		Fail(rw, Refuse(http.StatusNotFound, "not_found", "there is nothing here", ""))
		return
	}
	h := rw.Header()
	h.Set("Content-Type", mime)
	h.Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(body)))
	h.Set("Cache-Control", "no-cache")
	http.ServeContent(rw, r, "", time.Time{}, bytes.NewReader(body))
}

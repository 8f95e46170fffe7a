// Package assets has the files of the chat page: its pages, scripts and pictures.
package assets

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/httpd"
)

//go:embed *.html *.css *.js *.svg *.png *.webmanifest
var files embed.FS

// pages are the pages by name, each with the pieces that pages share.
var pages = readPages("chat", "index", "login", "missing")

// readPages panics if the program was built without its pages.
func readPages(names ...string) map[string]string {
	read := func(name string) string {
		text, err := files.ReadFile(name + ".html")
		if err != nil {
			panic(err)
		}
		return strings.TrimSpace(string(text))
	}
	pieces := strings.NewReplacer("{{>chatlist}}", read("chatlist"), "{{>head}}", read("head"), "{{>icons}}", read("icons"), "{{>mark}}", read("mark"))
	all := map[string]string{}
	for _, name := range names {
		all[name] = pieces.Replace(read(name))
	}
	return all
}

var types = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
	".png": "image/png",

	".webmanifest": "application/manifest+json",
}

// worker is the script that runs while no page is open.
const worker = "worker.js"

// Serve answers a request for the script, style or picture {name}.
func Serve(rw http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	mime := types[path.Ext(name)]
	body, err := files.ReadFile(name)
	if err != nil || mime == "" {
		http.NotFound(rw, r)
		return
	}
	if name == worker {
		rw.Header().Set("Service-Worker-Allowed", "/")
	}
	rw.Header().Set("Content-Type", mime)
	rw.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(body)))
	rw.Header().Set("Cache-Control", "no-cache") // kept, but asked for again: a new host brings new scripts
	http.ServeContent(rw, r, "", time.Time{}, bytes.NewReader(body))
}

// Render answers with the page of that name, filled with v: chat, index, login or missing.
func Render(rw http.ResponseWriter, status int, name string, v httpd.Values) {
	body, err := httpd.Fill(pages[name], v)
	if err != nil {
		http.Error(rw, "internal error", http.StatusInternalServerError)
		return
	}
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	rw.WriteHeader(status)
	// A client that is gone needs no page.
	_, _ = io.WriteString(rw, body)
}

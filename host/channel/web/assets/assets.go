// Package assets has the files of the chat page: its pages, scripts and pictures.
package assets

import (
	"embed"
	"io"
	"net/http"
	"path"
	"strings"

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

// worker is the script that runs while no page is open.
const worker = "worker.js"

// Serve answers a request for the script, style or picture {name}.
func Serve(rw http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if path.Ext(name) == ".html" { // a page with its gaps
		name = ""
	}
	if name == worker {
		rw.Header().Set("Service-Worker-Allowed", "/")
	}
	httpd.ServeAsset(rw, r, files, name)
}

// Render answers with the page of that name, filled with v: chat, index, login or missing.
func Render(rw http.ResponseWriter, status int, name string, v httpd.Values) {
	body, err := httpd.Fill(pages[name], v)
	if err != nil {
		panic(err) // a mistake in the page, which its tests find
	}
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	rw.WriteHeader(status)
	// A client that is gone needs no page.
	_, _ = io.WriteString(rw, body)
}

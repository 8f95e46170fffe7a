package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"strings"
	"time"
	"unicode"

	"github.com/longshore-bridge/longshore/host/channel/httpd"
)

//go:embed assets
var assetFS embed.FS

// pages are the pages of the channel by name, each with the pieces that pages share.
var pages = readPages("chat", "index", "login", "missing")

// readPages panics if the program was built without its pages.
func readPages(names ...string) map[string]string {
	read := func(name string) string {
		text, err := assetFS.ReadFile("assets/" + name + ".html")
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

var assetTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
	".png": "image/png",

	".webmanifest": "application/manifest+json",
}

// worker is the asset that runs while no page is open.
const worker = "worker.js"

// serveAsset serves the page's scripts and styles.
func serveAsset(rw http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	mime := assetTypes[path.Ext(name)]
	body, err := assetFS.ReadFile("assets/" + name)
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

// pageValues returns what fills the pages; current is the open chat, if any.
func (w *Web) pageValues(r *http.Request, current string) httpd.Values {
	now := w.now()
	v := httpd.Values{
		"signedIn": sessionOf(r.Context()) != nil, // there is a session to end
		"push":     "",                            // the key for the browser's push service; empty: Web Push is off
		"none":     len(now.order) == 0, "some": len(now.order) > 0, "several": len(now.order) > 1, "assistant": now.AssistantName,
		"maxUpload": fmt.Sprint(now.MaxUpload), "maxFiles": fmt.Sprint(w.opts.MaxFiles), "maxText": fmt.Sprint(maxText),
	}
	if w.push != nil {
		v["push"] = w.push.public
	}
	chats := []httpd.Values{}
	for _, room := range now.order {
		name := cleanName(room.Name, room.name)
		c := httpd.Values{"slug": room.name, "name": name, "hue": fmt.Sprint(hue(room.name)), "initial": initial(name), "current": room.name == current}
		if room.name == current {
			maps.Copy(v, c)
			v["trigger"] = room.Trigger // the word that calls the assistant here; empty: every message does
			v["heard"] = room.Heard     // the assistant may read everything here
		}
		chats = append(chats, c)
	}
	v["chats"] = chats
	return v
}

func (w *Web) index(rw http.ResponseWriter, r *http.Request) {
	if all := w.now().order; len(all) == 1 {
		http.Redirect(rw, r, "/c/"+all[0].name, http.StatusSeeOther)
		return
	}
	render(rw, http.StatusOK, "index", w.pageValues(r, ""))
}

func (w *Web) page(rw http.ResponseWriter, r *http.Request) {
	name := r.PathValue("chat")
	if w.now().chats[name] == nil {
		render(rw, http.StatusNotFound, "missing", nil)
		return
	}
	render(rw, http.StatusOK, "chat", w.pageValues(r, name))
}

func render(rw http.ResponseWriter, status int, name string, v httpd.Values) {
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

// initial returns the letter in a chat's round picture.
func initial(name string) string {
	for _, r := range name {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return strings.ToUpper(string(r))
		}
	}
	return "#"
}

// hue maps names to the style sheet's eight colours.
func hue(name string) int {
	n := 0
	for _, r := range name {
		n = (n*31 + int(r)) & 0xffff
	}
	return n % 8
}

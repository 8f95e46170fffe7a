package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"strings"
	"time"
	"unicode"
)

//go:embed assets
var assetFS embed.FS

// pages are parsed once; they are part of the program, so an error in them is
// found by any test.
var pages = template.Must(template.New("").Funcs(template.FuncMap{"initial": initial, "hue": hue}).ParseFS(assetFS, "assets/*.html"))

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

// pageChat is a chat as the templates need it.
type pageChat struct {
	Slug, Name string
	Current    bool
}

type pageData struct {
	Chat          pageChat
	Trigger       string // the word that calls the assistant in Chat; empty: every message does
	Heard         bool   // the assistant may read everything in Chat
	Chats         []pageChat
	AssistantName string
	MaxUpload     int64
	MaxFiles      int
	MaxText       int
	SignedIn      bool   // there is a session to end
	PushKey       string // for the browser's push service; empty: Web Push is off
}

func (w *Web) pageData(r *http.Request, current string) pageData {
	now := w.now()
	d := pageData{SignedIn: sessionOf(r.Context()) != nil, AssistantName: now.AssistantName, MaxUpload: now.MaxUpload, MaxFiles: w.opts.MaxFiles, MaxText: maxText}
	if w.push != nil {
		d.PushKey = w.push.public
	}
	for _, room := range now.order {
		c := pageChat{Slug: room.name, Name: cleanName(room.Name, room.name), Current: room.name == current}
		if c.Current {
			d.Chat, d.Trigger, d.Heard = c, room.Trigger, room.Heard
		}
		d.Chats = append(d.Chats, c)
	}
	return d
}

func (w *Web) index(rw http.ResponseWriter, r *http.Request) {
	if all := w.now().order; len(all) == 1 {
		http.Redirect(rw, r, "/c/"+all[0].name, http.StatusSeeOther)
		return
	}
	render(rw, http.StatusOK, "index.html", w.pageData(r, ""))
}

func (w *Web) page(rw http.ResponseWriter, r *http.Request) {
	name := r.PathValue("chat")
	if w.now().chats[name] == nil {
		render(rw, http.StatusNotFound, "missing.html", nil)
		return
	}
	render(rw, http.StatusOK, "chat.html", w.pageData(r, name))
}

func render(rw http.ResponseWriter, status int, name string, data any) {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, data); err != nil {
		http.Error(rw, "internal error", http.StatusInternalServerError)
		return
	}
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	rw.WriteHeader(status)
	// A client that is gone needs no page.
	_, _ = b.WriteTo(rw)
}

// initial is what stands in a chat's round picture.
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

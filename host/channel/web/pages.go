package web

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"unicode"

	"github.com/longshore-bridge/longshore/host/channel/web/assets"
	"github.com/longshore-bridge/longshore/host/channel/web/session"
	"github.com/longshore-bridge/longshore/host/httpd"
)

// pageValues returns what fills the pages; current is the open chat, if any.
func (w *Web) pageValues(r *http.Request, current string) httpd.Values {
	now := w.now()
	v := httpd.Values{
		"signedIn": session.Of(r.Context()) != nil, // there is a session to end
		"push":     w.push.PublicKey(),             // the key for the browser's push service; empty: Web Push is off
		"none":     len(now.order) == 0, "some": len(now.order) > 0, "several": len(now.order) > 1, "assistant": now.AssistantName,
		"maxUpload": fmt.Sprint(now.MaxUpload), "maxFiles": fmt.Sprint(w.opts.MaxFiles), "maxText": fmt.Sprint(maxText),
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
	assets.Render(rw, http.StatusOK, "index", w.pageValues(r, ""))
}

func (w *Web) page(rw http.ResponseWriter, r *http.Request) {
	name := r.PathValue("chat")
	if w.now().chats[name] == nil {
		assets.Render(rw, http.StatusNotFound, "missing", nil)
		return
	}
	assets.Render(rw, http.StatusOK, "chat", w.pageValues(r, name))
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

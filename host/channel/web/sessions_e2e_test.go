//go:build e2e

package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/internal/browsertest"
	"github.com/longshore-bridge/longshore/media"
)

// A browser signs in by a link, reads, is tried by a service on another port of
// the same host name, and signs out.
func TestABrowserSignsInAndOut(t *testing.T) {
	s, _ := behindToken(t)
	stolen := make(chan string, 8)
	thief := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { stolen <- r.Header.Get("Cookie") }))
	defer thief.Close()
	s.send(channel.Message{Text: "for members only", Files: outgoing("chart.png", "image/png", media.Image, chart(t, 640, 360))})
	p := browsertest.Start(t).Open(s.at("/c/family?token="+token), phone)
	p.Wait(`document.getElementById("state")?.textContent === "with Andy" && location.search === ""`)
	p.Wait(`document.querySelector("#messages .text")?.textContent === "for members only"`)
	p.Wait(`document.querySelector("#messages img").naturalWidth === 640`)
	fits(t, p)
	p.Shot("signed-in.png")
	p.Eval(`document.getElementById("text").focus()`, nil)
	p.Write("from the browser")
	p.Enter()
	p.Eval(`document.getElementById("composer").requestSubmit()`, nil)
	p.Wait(`[...document.querySelectorAll("#messages .own .text")].some((n) => n.textContent.startsWith("from the browser"))`)

	// What another port of 127.0.0.1 gets is not enough.
	p.Do("Page.navigate", map[string]any{"url": thief.URL})
	cookie := <-stolen
	if !strings.HasPrefix(cookie, "longshore_") {
		t.Fatalf("the other port got %q: the test proves nothing", cookie)
	}
	if res, b := s.do("GET", chatAPI, nil, "Cookie", cookie); res.StatusCode != 401 || strings.Contains(string(b), "members") {
		t.Errorf("with the stolen cookie: %d %s", res.StatusCode, b)
	}
	var kept string
	p.Eval(`String(localStorage.getItem("longshore.key"))`, &kept)
	if kept != "null" {
		t.Error("the other port can read the key")
	}

	p.Do("Page.navigate", map[string]any{"url": s.at("/c/family")})
	p.Wait(`document.getElementById("state")?.textContent === "with Andy"`)
	p.Eval(`document.getElementById("leave").click()`, nil)
	p.Wait(`location.pathname === "/login" && document.getElementById("token")`)
	if res, _ := s.do("GET", "/c/family", nil, "Cookie", cookie, "Accept", "text/html"); res.StatusCode != 401 {
		t.Errorf("after signing out: %d", res.StatusCode)
	}
}

// writeToken signs in at the form, as soon as the form takes it.
func writeToken(p *browsertest.Tab) {
	p.Wait(`document.getElementById("open")?.disabled === false`)
	p.Eval(`document.getElementById("token").focus()`, nil)
	p.Write(token)
	p.Eval(`document.getElementById("open").click()`, nil)
}

func TestAPageWithoutItsKeyAsksForTheToken(t *testing.T) {
	s, _ := behindToken(t)
	p := browsertest.Start(t).Open(s.at("/c/work?token=wrong-token-of-some-length"), desk)
	p.Wait(`document.getElementById("wrong")?.textContent.includes("not the right one") && location.search === ""`)
	p.Shot("wrong-token.png")
	writeToken(p)
	p.Wait(`document.getElementById("state")?.textContent === "with Andy" && location.pathname === "/c/work"`)
	p.Eval(`localStorage.removeItem("longshore.key"); setTimeout(() => location.reload())`, nil)
	p.Wait(`location.pathname === "/login" && location.search === "?to=%2Fc%2Fwork" && document.getElementById("token")`)
	writeToken(p)
	p.Wait(`document.getElementById("state")?.textContent === "with Andy" && location.pathname === "/c/work"`)
	p.Do("Page.navigate", map[string]any{"url": s.at("/")})
	p.Wait(`document.getElementById("leave")?.textContent === "Sign out"`)
	p.Shot("index-signed-in.png")
}

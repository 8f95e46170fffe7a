//go:build e2e

package web_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/internal/browsertest"
)

// page shows a chat whose connection stands.
func (s *site) page(c *browsertest.Browser, path string, view browsertest.Screen) *browsertest.Tab {
	s.t.Helper()
	p := c.Open(s.at(path), view)
	p.Wait(`document.getElementById("state").textContent === "with Andy"`)
	p.Eval(`document.getElementById("text").focus()`, nil)
	return p
}

// submit presses the button beside the text.
func submit(p *browsertest.Tab) { p.Eval(`document.getElementById("composer").requestSubmit()`, nil) }

// files writes files into a directory of the test.
func files(t testing.TB, bodies map[string][]byte) func(name string) string {
	dir := t.TempDir()
	for name, body := range bodies {
		if err := os.WriteFile(filepath.Join(dir, name), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func(name string) string { return filepath.Join(dir, name) }
}

const ownTexts = `[...document.querySelectorAll("#messages .own .text")].map((n) => n.textContent).join()`

func TestWhatWasWrittenDuringAnOutageIsSentByItselfAndOnce(t *testing.T) {
	o := options(t.TempDir())
	s := start(t, o)
	p := s.page(browsertest.Start(t), "/c/family", desk)
	o.Listen = s.Addr().String()
	s.stop()
	p.Wait(`document.getElementById("state").className === "off"`)
	for _, text := range []string{"first", "second", "third"} {
		p.Write(text)
		submit(p)
	}
	p.Wait(`document.querySelectorAll("#pending .msg").length === 3 && document.querySelector("#pending .waits .trouble")`)
	// The reload finds no page as long as the host is away, so it comes back first; what
	// is posted in between is posted under the key that it had.
	s = start(t, o)
	p.Do("Page.reload", nil)
	p.Wait(ownTexts + ` === "first,second,third" && !document.querySelector("#pending li")`)
	if got := texts(s.history("")); got != "first;second;third;" {
		t.Errorf("the chat has %s", got)
	}
	p.Eval(`new Promise((done) => setTimeout(done, 50))`, nil)
	p.Wait(`localStorage.getItem("longshore.chat.family") === null`)
}

func TestADraftOutlivesAReloadAndNotALogOut(t *testing.T) {
	s, _ := behindToken(t)
	s.posted(s.do("POST", chatAPI, strings.NewReader(`{"text":"an old one","from":"Bob"}`), "Content-Type", "application/json", "Authorization", "Bearer "+token))
	p := browsertest.Start(t).Open(s.at("/c/family?token="+token), desk)
	p.Wait(`document.getElementById("state")?.textContent === "with Andy"`)
	p.Eval(`document.querySelector("#messages .reply").click()`, nil)
	p.Write("half a thou")
	p.Wait(`localStorage.getItem("longshore.chat.family").includes("half a thou")`)
	p.Do("Page.reload", nil)
	p.Wait(`document.getElementById("state")?.textContent === "with Andy" && document.getElementById("text").value === "half a thou" && !document.getElementById("send").disabled`)
	p.Wait(`!document.getElementById("replybar").hidden && document.getElementById("replyfrom").textContent === "Bob"`)
	p.Do("Page.navigate", map[string]any{"url": s.at("/c/work")})
	p.Wait(`location.pathname === "/c/work" && document.getElementById("state")?.textContent === "with Andy" && document.getElementById("text").value === ""`)
	p.Eval(`document.getElementById("leave").click()`, nil)
	p.Wait(`location.pathname === "/login" && Object.keys(localStorage).filter((k) => k.startsWith("longshore.chat.") || k === "longshore.key").length === 0`)
}

// What the host does not take comes back to where it was written.
func TestTheBadFileIsNamedAndTheRestIsStillThere(t *testing.T) {
	o := options(t.TempDir())
	o.MaxUpload, o.Quota = 1000, 900
	s := start(t, o)
	at := files(t, map[string][]byte{"good.txt": []byte("good"), "empty.txt": nil, "large.txt": bytes.Repeat([]byte("l"), 1001), "soon-gone.txt": []byte("x"), "much.txt": bytes.Repeat([]byte("m"), 900)})
	p := s.page(browsertest.Start(t), "/c/family", desk)
	names := `[...document.querySelectorAll("#tray b")].map((n) => n.textContent).join()`
	p.Choose(at("good.txt"), at("empty.txt"), at("large.txt"))
	p.Wait(names + ` === "good.txt" && document.getElementById("notice").textContent === "empty.txt is empty, or a folder. large.txt is 1001 bytes; one file may have up to 1000 bytes."`)
	p.Shot("refused-files.png")
	p.Choose(at("soon-gone.txt"))
	p.Wait(names + ` === "good.txt,soon-gone.txt"`)
	if err := os.Remove(at("soon-gone.txt")); err != nil {
		t.Fatal(err)
	}
	p.Write("Both of them")
	submit(p)
	p.Wait(names + ` === "good.txt,soon-gone.txt" && document.querySelector("#tray .bad b").textContent === "soon-gone.txt" && document.getElementById("text").value === "Both of them"`)
	p.Wait(`document.getElementById("notice").textContent.startsWith("Not sent: soon-gone.txt cannot be read any more") && !document.querySelector("#pending li")`)
	fits(t, p)
	p.Shot("bad-file.png")
	p.Eval(`document.querySelector("#tray .bad button").click()`, nil)
	submit(p)
	p.Wait(ownTexts + ` === "Both of them" && !document.querySelector("#pending li") && document.getElementById("tray").hidden`)
	// The host says no: the chat is full.
	p.Choose(at("much.txt"))
	p.Wait(names + ` === "much.txt"`)
	submit(p)
	p.Wait(`document.querySelectorAll("#messages .own").length === 2`)
	p.Choose(at("much.txt"))
	p.Write("once more")
	submit(p)
	p.Wait(names + ` === "much.txt" && document.getElementById("text").value === "once more" && document.getElementById("notice").textContent.startsWith("Not sent: ")`)
}

func TestThePageWarnsBeforeItIsLeftDuringAnUpload(t *testing.T) {
	s := start(t, options(t.TempDir()))
	at := files(t, map[string][]byte{"film.bin": bytes.Repeat([]byte("film"), 1<<20)})
	p := s.page(browsertest.Start(t), "/c/family", desk)
	dialog := p.On("Page.javascriptDialogOpening")
	p.Choose(at("film.bin"))
	p.Do("Network.enable", nil)
	p.Do("Network.emulateNetworkConditions", map[string]any{"offline": false, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 500_000})
	p.Write("a film")
	submit(p)
	p.Wait(`document.querySelector("#pending progress")?.value > 0`)
	p.Eval(`setTimeout(() => location.reload())`, nil)
	var opened struct{ Type string }
	if err := json.Unmarshal(<-dialog, &opened); err != nil || opened.Type != "beforeunload" {
		t.Errorf("the browser asked by %q, %v", opened.Type, err)
	}
	p.Do("Page.handleJavaScriptDialog", map[string]any{"accept": false})
	p.Do("Network.emulateNetworkConditions", map[string]any{"offline": false, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1})
	p.Wait(ownTexts + ` === "a film" && !document.querySelector("#pending li")`)
}

func TestTheEnterKeyDoesWhatItSays(t *testing.T) {
	s := start(t, options(t.TempDir()))
	c := browsertest.Start(t)
	p := s.page(c, "/c/family", desk)
	p.Wait(`document.getElementById("text").enterKeyHint === "send"`)
	p.Write("from the desk")
	p.Enter()
	p.Wait(ownTexts + ` === "from the desk"`)
	p = s.page(c, "/c/work", phone)
	p.Wait(`document.getElementById("text").enterKeyHint === "enter"`)
	p.Write("two")
	p.Enter()
	p.Write("lines")
	p.Wait(`document.getElementById("text").value === "two\nlines"`)
	submit(p)
	p.Wait(ownTexts + ` === "two\nlines"`)
}

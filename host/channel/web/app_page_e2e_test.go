//go:build e2e

package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/internal/browsertest"
	"github.com/longshore-bridge/longshore/media"
)

const chatOrder = `[...document.querySelectorAll(".chatlist li")].map((n) => n.dataset.chat).join()`

func TestTheListOfChatsShowsWhatIsNew(t *testing.T) {
	s := start(t, options(t.TempDir()))
	s.say("an old one")
	c := browsertest.Start(t)
	p := s.page(c, "/c/family", desk)
	p.Wait(chatOrder + ` === "family,work" && document.querySelector('[data-chat="family"] small').textContent === "Ann: an old one"`)
	p.Wait(`document.querySelector('[data-chat="work"] small').textContent === "No messages yet"`)
	for _, text := range []string{"**one**", "two of them"} {
		s.send(channel.Message{Chat: "web:work", Text: text})
	}
	p.Wait(chatOrder + ` === "work,family" && document.querySelector('[data-chat="work"] .unread').textContent === "2 unread" && document.querySelector('[data-chat="work"] small').textContent === "Andy: two of them"`)
	p.Shot("chats.png")
	s.say("a new one")
	p.Wait(chatOrder + ` === "family,work" && document.querySelector('[data-chat="family"] .unread').hidden`)
	q := c.Open(s.at("/"), phone)
	q.Wait(`document.querySelector('[data-chat="work"] .unread').textContent === "2 unread" && ` + chatOrder + ` === "family,work"`)
	q.Shot("chats-phone.png")
	p.Do("Page.navigate", map[string]any{"url": s.at("/c/work")})
	p.Wait(`location.pathname === "/c/work" && document.querySelectorAll("#messages .msg").length === 2`)
	q.Wait(`document.querySelector('[data-chat="work"] .unread').hidden`)
}

func TestAMemberSeesWhatBecameOfAMessage(t *testing.T) {
	s := start(t, options(t.TempDir()))
	take := make(chan struct{})
	s.in.receive = func(ctx context.Context, _ channel.Inbound) error {
		select {
		case <-take:
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	p := s.page(browsertest.Start(t), "/c/family", desk)
	p.Write("hello")
	submit(p)
	tick := `document.querySelector("#messages .own .tick").className + document.querySelector("#messages .own .tick").title`
	p.Wait(tick + ` === "tick receivedSent"`)
	close(take)
	p.Wait(tick + ` === "tick deliveredDelivered"`)
	p.Do("Page.reload", nil)
	p.Wait(`document.getElementById("state").textContent === "with Andy" && ` + tick + ` === "tick deliveredDelivered"`)
	s.Typing(t.Context(), "web:family", "", true)
	p.Wait(tick + ` === "tick readRead"`)
	s.send(channel.Message{Text: "Hello!"})
	p.Do("Page.reload", nil)
	p.Wait(`document.querySelectorAll("#messages .msg").length === 2 && ` + tick + ` === "tick readRead"`)
}

func TestAnEmptyChatSaysHowToBegin(t *testing.T) {
	s := start(t, options(t.TempDir()))
	p := s.page(browsertest.Start(t), "/c/family", phone)
	p.Wait(`document.querySelectorAll(".ideas button").length === 3`)
	fits(t, p)
	p.Shot("begin.png")
	p.Eval(`document.querySelector(".ideas button").click()`, nil)
	p.Wait(`document.querySelectorAll("#messages .own").length === 1 && !document.querySelector(".ideas") && document.getElementById("text").value === ""`)
	if got := s.history("")[0].Text; got != "Hello! What can you do?" {
		t.Errorf("the click said %q", got)
	}
}

func TestAChatWhoseAssistantWaitsForAWordSaysSo(t *testing.T) {
	o := options(t.TempDir())
	o.Chats[0].Trigger = "@Andy"
	s := start(t, o)
	p := s.page(browsertest.Start(t), "/c/family", phone)
	p.Wait(`document.getElementById("text").placeholder.includes("@Andy") && document.getElementById("start").textContent.includes("if a message contains @Andy")`)
	p.Eval(`document.querySelector(".ideas button").click()`, nil)
	p.Wait(ownTexts + `.startsWith("@Andy ")`)
	fits(t, p)
	p.Shot("trigger.png")
}

func TestEachPersonHasAColourAndALongNameATooltip(t *testing.T) {
	s := start(t, options(t.TempDir()))
	names := []string{"Ann", "Bob", "Cleo", "Dora", "Emil", "Fritz", strings.Repeat("Maximiliane ", 5)}
	for _, name := range names {
		b, _ := json.Marshal(map[string]string{"text": "I am " + name, "from": name})
		s.posted(s.do("POST", chatAPI, bytes.NewReader(b), "Content-Type", "application/json"))
	}
	s.send(channel.Message{Text: "Welcome."})
	p := s.page(browsertest.Start(t), "/c/family", phone)
	p.Wait(`document.querySelectorAll("#messages .msg").length === 8`)
	var got struct {
		Colours int
		Title   string
	}
	p.Eval(`({ colours: new Set([...document.querySelectorAll("#messages .who")].map((n) => n.className)).size, title: document.querySelectorAll("#messages .who")[6].title })`, &got)
	if got.Colours != 8 || got.Title != strings.TrimSpace(names[6]) {
		t.Errorf("%d colours for 8, and the long name's tooltip is %q", got.Colours, got.Title)
	}
	fits(t, p)
}

func TestTheStopButtonAsksTheAssistantToStop(t *testing.T) {
	s := start(t, options(t.TempDir()))
	p := s.page(browsertest.Start(t), "/c/family", phone)
	p.Wait(`document.getElementById("stop").hidden`)
	s.Typing(t.Context(), "web:family", "", true)
	p.Wait(`!document.getElementById("stop").hidden`)
	fits(t, p)
	p.Eval(`document.getElementById("stop").click()`, nil)
	p.Wait(`document.getElementById("stop").disabled`)
	s.in.wait(t, func() bool { return len(s.in.kept) == 1 && s.in.kept[0].Text == "/stop" })
	s.Typing(t.Context(), "web:family", "", false)
	p.Wait(`document.getElementById("stop").hidden`)
}

// The browser's own viewer shows a PDF; all else stays a download.
func TestAPDFIsShownByTheBrowsersViewer(t *testing.T) {
	s := start(t, options(t.TempDir()))
	p := s.page(browsertest.Start(t), "/c/family", desk)
	pdf, err := os.ReadFile("testdata/page.pdf")
	if err != nil {
		t.Fatal(err)
	}
	s.send(channel.Message{Files: outgoing("report.pdf", "application/pdf", media.Document, pdf)})
	s.send(channel.Message{Files: outgoing("page.html", "text/html", media.Document, []byte("<script>parent.pwned=1</script>"))})
	for _, m := range s.history("") {
		res, b := s.do("GET", m.File.URL+"?view", nil)
		h := res.Header
		inline := strings.HasPrefix(h.Get("Content-Disposition"), "inline")
		if csp := h.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "sandbox; default-src 'none'") || strings.Contains(csp, "allow") || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", m.File.Name, h)
		}
		if pdf := m.File.Name == "report.pdf"; inline != pdf || pdf != (h.Get("Content-Type") == "application/pdf") || pdf != (h.Get("X-Frame-Options") == "SAMEORIGIN") || len(b) == 0 {
			t.Errorf("%s: %v", m.File.Name, h)
		}
	}
	p.Wait(`document.querySelectorAll("#messages .card").length === 2 && document.querySelectorAll("#messages .card .look").length === 1`)
	p.Eval(`document.querySelector("#messages .look").click()`, nil)
	p.Wait(`document.getElementById("lightbox").open && document.querySelector("#lightview iframe").src.endsWith("/report.pdf?view")`)
	p.Eval(`new Promise((done) => { const f = document.querySelector("#lightview iframe"); f.contentDocument?.URL === "about:blank" ? f.addEventListener("load", done) : done(); })`, nil)
	// What the frame's document holds is the browser's; the file is behind it.
	var words string
	p.Eval(`(() => { try { return document.querySelector("#lightview iframe").contentDocument?.documentElement.textContent.trim() ?? ""; } catch { return ""; } })()`, &words)
	if words != "" {
		t.Errorf("the file reached the page: %q", words)
	}
	p.Shot("pdf.png")
	p.Eval(`document.getElementById("lightbox").close()`, nil)
	p.Wait(`!document.querySelector("#lightview iframe")`)
}

func TestThePageCanBeInstalled(t *testing.T) {
	s, _ := behindToken(t) // a browser fetches the manifest without the session
	p := browsertest.Start(t).Open(s.at("/c/family?token="+token), phone)
	p.Wait(`document.getElementById("state")?.textContent === "with Andy"`)
	var got struct {
		Errors []struct{ Message string }
		Data   string
	}
	p.Get("Page.getAppManifest", nil, &got)
	if len(got.Errors) > 0 || !strings.Contains(got.Data, `"standalone"`) {
		t.Errorf("the browser reads the manifest as %+v", got)
	}
	var not struct {
		InstallabilityErrors []struct{ ErrorID string }
	}
	p.Get("Page.getInstallabilityErrors", nil, &not)
	if len(not.InstallabilityErrors) > 0 {
		t.Errorf("the page cannot be installed: %+v", not)
	}
}

func TestANotificationComesWhileThePageIsOutOfSight(t *testing.T) {
	s := start(t, options(t.TempDir()))
	p := s.page(browsertest.Start(t), "/c/family", desk)
	p.Eval(`window.shown = []; window.Notification = class extends EventTarget { static permission = "default"; static requestPermission() { return Promise.resolve(Notification.permission = "granted"); }
		constructor(title, options) { super(); shown.push(title + "|" + options.body); } }`, nil)
	s.send(channel.Message{Text: "before the click"})
	p.Wait(`document.querySelectorAll("#messages .msg").length === 1`)
	p.Eval(`document.getElementById("notify").click()`, nil)
	p.Wait(`document.getElementById("notify").getAttribute("aria-pressed") === "true"`)
	s.send(channel.Message{Text: "while it is seen"})
	p.Wait(`document.querySelectorAll("#messages .msg").length === 2`)
	p.Eval(`Object.defineProperty(document, "hidden", { value: true }); Object.defineProperty(document, "visibilityState", { value: "hidden" })`, nil)
	s.send(channel.Message{Text: "in **this** chat"})
	p.Wait(`shown.join() === "Family|Andy: in **this** chat" && document.title === "(1) Family · Longshore"`)
	s.send(channel.Message{Chat: "web:work", Text: "in another"})
	p.Wait(`shown.at(-1) === "Work & Co|Andy: in another"`)
	p.Eval(`document.getElementById("notify").click()`, nil)
	s.send(channel.Message{Text: "after it was turned off"})
	p.Wait(`document.querySelectorAll("#messages .msg").length === 4 && shown.length === 2`)
}

// TestFiveThousandMessagesDoNotLag measures what a member does in a long chat. The bounds
// are for a busy machine; the log has the numbers.
// busy is the processor time that the page's own thread has used, in seconds: what else
// runs on the machine does not count.
func busy(p *browsertest.Tab) float64 {
	var all struct {
		Metrics []struct {
			Name  string
			Value float64
		}
	}
	p.Get("Performance.getMetrics", nil, &all)
	for _, m := range all.Metrics {
		if m.Name == "TaskDuration" {
			return m.Value
		}
	}
	return math.Inf(1)
}

// worst is the most processor time that one of n steps takes.
func worst(p *browsertest.Tab, n int, step string) (most float64) {
	for range n {
		before := busy(p)
		p.Eval(step, nil)
		most = max(most, busy(p)-before)
	}
	return most
}

func TestFiveThousandMessagesDoNotLag(t *testing.T) {
	o := options(t.TempDir())
	s := start(t, o)
	s.stop()
	alter(t, o.Dir, fill, 5000, "family")
	alter(t, o.Dir, `UPDATE page_message SET sender = iif(seq % 3, 'Andy', 'Ann'), assistant = seq % 3 <> 0, time = 1760000000000 + seq * 60000, status = 'read',
		text = printf('message **%d** ', seq) || substr(hex(zeroblob(200)), 1, seq % 7 * 50)`)
	alter(t, o.Dir, `UPDATE page_message SET tree = json_array(json_object('t', 'p', 'c', json_array('message ', json_object('t', 'b', 'c', json_array(CAST(seq AS TEXT))), substr(text, 17))))`)
	s = start(t, o)
	p := s.page(browsertest.Start(t), "/c/family", desk)
	p.Do("Performance.enable", map[string]any{"timeDomain": "threadTicks"})
	p.Eval(`window.frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))`, nil)
	begun := time.Now()
	for range 4 { // each Wait has its own end
		p.Wait(`(() => { document.getElementById("log").scrollTop = 0; window.reached ??= 0; const n = document.querySelectorAll("#messages .msg").length; return n === 5000 || n >= reached + 1250 && (reached = n); })()`)
	}
	p.Wait(`document.querySelectorAll("#messages .msg").length === 5000`)
	t.Logf("all 5,000 on the page after %s", time.Since(begun).Round(time.Millisecond))
	scroll := worst(p, 40, `document.getElementById("log").scrollTop += 1200; frame()`)
	typed := worst(p, 20, `document.getElementById("text").value += "word "; document.getElementById("text").dispatchEvent(new Event("input")); frame()`)
	p.Eval(`document.getElementById("newer").click()`, nil)
	p.Wait(`document.getElementById("newer").hidden`)
	before := busy(p)
	s.send(channel.Message{Text: "news"})
	p.Wait(`document.getElementById("messages").lastElementChild.textContent.includes("news")`)
	p.Eval(`frame()`, nil)
	arrived := busy(p) - before
	t.Logf("seconds of processor time at most: scrolling %.2f, typing %.2f, an arriving message %.2f", scroll, typed, arrived)
	if max(scroll, typed, arrived) > 1 {
		t.Error("the page lags")
	}
	p.Wait(`document.getElementById("log").scrollTop + document.getElementById("log").clientHeight > document.getElementById("log").scrollHeight - 5`)
	p.Shot("long.png")
}

// TestTheKeyboardAloneAndAScreenReaderFindEverything walks the page by Tab and reads the
// tree that a screen reader gets.
func TestTheKeyboardAloneAndAScreenReaderFindEverything(t *testing.T) {
	s, _ := behindToken(t)
	p := browsertest.Start(t).Open(s.at("/c/family?token="+token), desk)
	p.Wait(`document.getElementById("state")?.textContent === "with Andy"`)
	s.send(channel.Message{Text: "A **report**", Files: outgoing("a.csv", "text/csv", media.Document, []byte("a,b\n"))})
	s.Typing(t.Context(), "web:family", "", true)
	p.Wait(`document.querySelectorAll("#messages .msg").length === 1 && !document.getElementById("stop").hidden`)
	p.Eval(`document.querySelector(".brand").focus()`, nil)
	var stops []string
	for i := range 13 {
		if i > 0 {
			p.Key("Tab", 9)
		}
		var at string
		p.Eval(`document.activeElement.id || document.activeElement.className || document.activeElement.getAttribute("href") || document.activeElement.tagName`, &at)
		stops = append(stops, at)
	}
	want := []string{"brand", "/c/family", "/c/work", "notify", "who", "leave", "log", "card", "icon reply", "icon more", "attach", "text", "stop"}
	if diff := cmp.Diff(want, stops); diff != "" {
		t.Error(diff)
	}
	var tree struct {
		Nodes []struct {
			Ignored bool
			Role    struct{ Value string }
			Name    struct{ Value string }
		}
	}
	p.Get("Accessibility.getFullAXTree", nil, &tree)
	seen := map[string]bool{}
	for _, n := range tree.Nodes {
		if n.Ignored {
			continue
		}
		seen[n.Role.Value+" "+n.Name.Value] = true
		if n.Name.Value == "" && (n.Role.Value == "button" || n.Role.Value == "link" || n.Role.Value == "textbox") {
			t.Errorf("a %s has no name", n.Role.Value)
		}
	}
	for _, want := range []string{"heading Family", "main ", "region Messages", "log ", "navigation Chats", "button Attach files", "button Stop Andy", "button Send", "button Sign out", "button Reply to Andy", "button More for the message of Andy", "textbox Message", "link Download a.csv, Table, 4 bytes"} {
		if !seen[want] {
			t.Errorf("the tree lacks %q", want)
		}
	}
}

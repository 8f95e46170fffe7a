//go:build e2e

package console

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/turns"
	"github.com/longshore-bridge/longshore/internal/browsertest"
	"github.com/longshore-bridge/longshore/internal/finding"
)

var (
	desk  = browsertest.Screen{Width: 1200, Height: 820}
	phone = browsertest.Screen{Width: 360, Height: 740, Phone: true, Dark: true}
)

const hostile = "<img src=x onerror=\"hacked=1\"><script>hacked=1</script>\u202egnp.exe\x1b[31m\u2066\x07 ${hacked=1} " + "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww"

// serveIn runs the page until the test ends.
func serveIn(t *testing.T, c operator.Control) *Console {
	t.Helper()
	page := open(t, c)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	l, err := page.Listen()
	if err != nil {
		t.Fatal(err)
	}
	go func() { done <- page.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return page
}

const ready = `!document.getElementById("main").hidden && document.querySelectorAll("#log li").length === 1`

// await asks until the answer is yes.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never happened: %s", what)
		}
	}
}

func TestHostileTextsStayTexts(t *testing.T) {
	b := browsertest.Start(t)
	page := serveIn(t, &control{name: hostile})
	for name, screen := range map[string]browsertest.Screen{"operator-desk.png": desk, "operator-phone.png": phone} {
		p := b.Open(page.SignIn(), screen)
		p.Wait(ready)
		p.Wait(`document.getElementById("groups").innerText.includes("longshore groups approve ABCD-EFGH") && document.getElementById("groups").innerText.includes("longshore why family")`)
		p.Eval(`document.querySelector("#failed button").click()`, nil)
		p.Wait(`document.querySelectorAll("#item .timeline li").length === 3`)
		p.Eval(`document.querySelector("#search button").click()`, nil)
		p.Wait(`document.querySelectorAll("#audit li").length === 1`)
		var bad []string
		p.Eval(`[...document.querySelectorAll("body img, body script, body iframe, [onerror]")].map((n) => n.outerHTML)
			.concat(typeof hacked === "undefined" ? [] : ["a script ran"],
				/[\u202a-\u202e\u2066-\u2069\x1b\x07]/.test(document.body.textContent) ? ["an invisible character"] : [],
				document.documentElement.scrollWidth > innerWidth ? ["wider than the screen"] : [],
				location.hash || document.cookie ? ["the token stays in the address, or a cookie"] : [])`, &bad)
		if len(bad) > 0 {
			t.Errorf("%s: %q", name, bad)
		}
		p.Eval(`document.getElementById("item").close()`, nil)
		p.Shot(name)
	}
}

// quay is a host on an ordinary day.
type quay struct{ *control }

func (q quay) Status(ctx context.Context) (operator.Status, error) {
	s, err := q.control.Status(ctx)
	now := time.Now()
	s.Version, s.PID, s.State, s.Started, s.Applied = "v0.1.0", 4711, "/var/lib/longshore", now.Add(-3*time.Hour), now.Add(-time.Hour)
	s.Disk, s.Quota = operator.Disk{Free: 61 << 30, Total: 80 << 30}, operator.Quota{Pending: 64, Bytes: 256 << 20, Inbox: 1 << 30, Links: 4 << 30}
	s.Channels = []operator.Channel{
		{Name: "web", Connected: true, Detail: "serving http://127.0.0.1:8420/"},
		{Name: "whatsapp", Detail: "no WhatsApp account is linked: longshore pair whatsapp", Scan: "scan the code on the phone"},
	}
	s.Groups = []operator.Group{
		{Folder: "family", Name: "Family", Chat: "web:family", Assistant: "andy", Trigger: "@Andy", Pending: 1, Bytes: 48 << 20, Oldest: now, Ignored: turns.Ignored{NotCalled: 12},
			Turns: turns.Turns{Done: now.Add(-4 * time.Minute), Answered: 31, Broke: now.Add(-2 * time.Hour), Broken: 1, Trouble: "the model's service was overloaded"}},
		{Folder: "crew", Name: "Harbour crew", Chat: "120363000000000001@g.us", Assistant: "andy"},
	}
	s.Disk.Floor = 2 << 30
	s.Groups[0].Use = operator.Use{Pending: 1, Bytes: 48 << 20, Retained: 3 << 20, Inbox: 256 << 20, Links: 1 << 30}
	s.Groups[1].Pending, s.Groups[1].Approvals, s.Groups[1].Bytes = 1, 1, 21<<20
	s.Assistants = []operator.Assistant{{Group: "family", State: "running", Started: now.Add(-time.Minute)}}
	s.Findings = []finding.Finding{{
		Name: "channel_down", Part: "channel whatsapp", Severity: finding.Fault, Since: now.Add(-time.Hour), Remedy: "longshore pair whatsapp",
		Cause: "channel whatsapp is not connected: no WhatsApp account is linked: longshore pair whatsapp",
	}}
	return s, err
}

func (q quay) PairingCodes(context.Context) ([]operator.PairingCode, error) { return nil, nil }

func (q quay) List(_ context.Context, f operator.Filter) ([]operator.Item, error) {
	if f.Waiting {
		return []operator.Item{{
			ID: "81c20d4f7ab3aa01", Kind: operator.Delivery, Group: "crew", Chat: "web:family", State: "waiting", Created: time.Now(),
			Files: 1, Names: []string{"tide tables 2027.pdf"}, Text: "The tables for next year, as you asked.", Bytes: 21 << 20, Code: "awaiting_approval",
			Message: "it waits until a person says yes or no to it (rule approve.above), at most until 2027-01-05 14:00 UTC",
		}}, nil
	}
	if f.Failed {
		return []operator.Item{{
			ID: "crew-018f7a5e", Kind: operator.Request, Group: "crew", State: "refused", Created: time.Now(), Code: "chat_not_allowed",
			Message: "this group may not send to web:family", Hint: "leave the chat out: it goes to your own",
		}}, nil
	}
	return []operator.Item{{
		ID: "63f00beed082e806", Kind: operator.Delivery, Group: "family", Chat: "web:family", State: "sending",
		Created: time.Now(), Files: 1, Names: []string{"harbour.mp4"}, Bytes: 48 << 20, Done: 31 << 20, Attempts: 1,
	}}, nil
}

// The picture is docs/operator.png.
func TestThePageLooksRight(t *testing.T) {
	b := browsertest.Start(t)
	page := serveIn(t, quay{&control{name: "x"}})
	p := b.Open(page.SignIn(), browsertest.Screen{Width: 1000, Height: 1180})
	p.Wait(ready)
	p.Shot("operator.png")
}

// The page named the quotas, and not how much of them was used.
func TestQuotasWithoutTheirUse(t *testing.T) {
	b := browsertest.Start(t)
	p := b.Open(serveIn(t, quay{&control{name: "x"}}).SignIn(), phone)
	p.Wait(ready)
	var text string
	p.Eval(`document.getElementById("groups").innerText + document.getElementById("host").innerText`, &text)
	for _, want := range []string{"messages under way: 1 of 64", "their files: 48 MiB of 256 MiB", "kept of failed messages: 3 MiB of 256 MiB", "files in the inbox: 256 MiB of 1 GiB", "files behind links: 1 GiB of 4 GiB", "61 GiB of 80 GiB free", "nothing is accepted below 2 GiB"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	var bars []float64
	p.Eval(`[...document.querySelectorAll("#groups li:first-child meter, #host meter")].map((m) => m.value / m.max)`, &bars)
	if want := []float64{19.0 / 80, 1.0 / 64, 48.0 / 256, 3.0 / 256, 0.25, 0.25}; !slices.Equal(bars, want) {
		t.Errorf("the bars show %v, want %v", bars, want)
	}
}

func TestBothThemesAreTheSystems(t *testing.T) {
	b := browsertest.Start(t)
	page := serveIn(t, &control{name: "x"})
	colours := map[string]bool{}
	for _, screen := range []browsertest.Screen{desk, phone} {
		var c string
		b.Open(page.SignIn(), screen).Eval(`getComputedStyle(document.body).backgroundColor`, &c)
		colours[c] = true
	}
	if len(colours) != 2 {
		t.Errorf("light and dark look the same: %v", colours)
	}
}

func TestAnOperatorActsOnThePage(t *testing.T) {
	b := browsertest.Start(t)
	c := &control{name: "family matters"}
	page := serveIn(t, c)
	p := b.Open(page.SignIn(), desk)
	p.Wait(ready)
	click := func(section, label string) {
		p.Wait(`[...document.querySelectorAll("#` + section + ` button")].some((n) => n.textContent === "` + label + `")`)
		p.Eval(`[...document.querySelectorAll("#`+section+` button")].find((n) => n.textContent === "`+label+`").click()`, nil)
	}
	click("failed", "Retry")
	await(t, "retry", func() bool { return c.did("retry refused-1") })
	click("queue", "Drop")
	if c.did("drop 0123456789abcdef") {
		t.Error("dropped by one click")
	}
	click("queue", "Drop it?")
	await(t, "drop", func() bool { return c.did("drop 0123456789abcdef") })
	click("groups", "Stop")
	click("groups", "Stop now?")
	await(t, "stop", func() bool { return c.did("stop family") })
	p.Wait(`document.getElementById("news").textContent === "Stopped: turns 1, messages that waited 0."`)
	click("tasks", "run")
	await(t, "run of a task", func() bool { return c.did("run task-1") })
	click("actions", "Reload configuration")
	p.Wait(`document.getElementById("news").textContent === "Not applied:\nfamily matters"`)
	var progress float64
	p.Eval(`document.querySelector("#queue progress").position`, &progress)
	if progress != 0.25 {
		t.Errorf("progress %v", progress)
	}
}

func TestAnOperatorPairsOnThePage(t *testing.T) {
	b := browsertest.Start(t)
	c := &control{name: "Settings, Linked devices"}
	p := b.Open(serveIn(t, c).SignIn(), phone)
	p.Wait(ready)
	p.Eval(`document.querySelector("#channels button").click()`, nil)
	p.Wait(`document.getElementById("item").open && document.querySelector("#item canvas").width > 0`)
	p.Wait(`document.getElementById("item").innerText.includes("Settings, Linked devices")`)
	var squares []int
	p.Eval(`(() => { const c = document.querySelector("#item canvas"), q = c.width / 10, at = (x, y) => c.getContext("2d").getImageData((x + 4.5) * q, (y + 4.5) * q, 1, 1).data[0];
		return [at(0, 0), at(1, 0), at(0, 1), at(1, 1), at(-2, -2)]; })()`, &squares)
	if want := []int{0, 255, 255, 0, 255}; !slices.Equal(squares, want) {
		t.Errorf("the code's squares are %v, want %v", squares, want)
	}
	c.mu.Lock()
	c.linked = true
	c.mu.Unlock()
	p.Wait(`document.getElementById("item").innerText.includes("Linked to Settings, Linked devices")`)
}

func TestTwoTabsShareASessionAndItsEnd(t *testing.T) {
	b := browsertest.Start(t)
	page := serveIn(t, &control{name: "x"})
	address := page.SignIn()
	plain, _, _ := strings.Cut(address, "#")
	first := b.Open(plain, desk)
	first.Wait(`!document.getElementById("signin").hidden && document.getElementById("main").hidden`)
	second := b.Open(address, desk)
	second.Wait(ready)
	first.Wait(ready)
	second.Eval(`document.getElementById("leave").click()`, nil)
	for _, p := range []*browsertest.Tab{first, second} {
		p.Wait(`!document.getElementById("signin").hidden && document.getElementById("main").hidden && document.querySelectorAll("#groups li").length === 0`)
	}
	late := b.Open(address, desk)
	late.Wait(`document.getElementById("news").textContent.includes("was used already")`)
}

func TestAnExpiredSessionShowsHowToSignIn(t *testing.T) {
	b := browsertest.Start(t)
	page := serveIn(t, &control{name: "x"})
	p := b.Open(page.SignIn(), phone)
	p.Wait(ready)
	page.sessions.mu.Lock()
	clear(page.sessions.keys)
	page.sessions.mu.Unlock()
	p.Wait(`document.getElementById("main").hidden && document.getElementById("signin").innerText.includes("longshore page")`)
}

// TestTheOperatorApprovesOnThePage by two presses, as for all that cannot be taken back.
func TestTheOperatorApprovesOnThePage(t *testing.T) {
	b := browsertest.Start(t)
	c := &control{name: "x"}
	page := serveIn(t, asking{c})
	p := b.Open(page.SignIn(), phone)
	p.Wait(ready)
	p.Wait(`document.getElementById("approvals").innerText.includes("rule approve.above")`)
	var text string
	p.Eval(`document.getElementById("approvals").innerText`, &text)
	for _, want := range []string{"report.pdf, b, c and 2 more", "the caption", "These are the oldest of 1000"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	press := `[...document.querySelectorAll("#approvals button")].find((b) => ["Approve", "Send it?"].includes(b.textContent)).click()`
	p.Eval(press, nil)
	p.Eval(press, nil)
	await(t, "the answer", func() bool { return c.did("waits-1 true") })
}

// asking is a host on which a thousand deliveries wait for an approval.
type asking struct{ *control }

func (a asking) Status(ctx context.Context) (operator.Status, error) {
	s, err := a.control.Status(ctx)
	s.Groups[0].Approvals = 1000
	return s, err
}

func (a asking) List(ctx context.Context, f operator.Filter) (all []operator.Item, err error) {
	if !f.Waiting {
		return a.control.List(ctx, f)
	}
	for i := range f.Limit {
		all = append(all, operator.Item{ID: fmt.Sprint("waits-", i+1), Kind: operator.Delivery, Group: "family", Chat: "web:family", State: "waiting", Created: time.Now(),
			Files: 5, Names: []string{"report.pdf", "b", "c"}, Text: "the caption", Bytes: 1 << 20, Code: "awaiting_approval", Message: "it waits until a person says yes or no to it (rule approve.above)"})
	}
	return all, nil
}

// A button that asks "Drop it?" acted on the second click, and on the third and fourth,
// too, until four seconds after the first.
func TestAThirdClickActedTwice(t *testing.T) {
	b := browsertest.Start(t)
	c := &control{name: "x"}
	p := b.Open(serveIn(t, c).SignIn(), desk)
	p.Wait(ready)
	p.Eval(`import("/assets/dom.js").then(({ button }) => {
		window.press = async (clicks) => {
			let acted = 0;
			const drop = button("Drop", async () => { acted++; }, "Drop it?");
			for (let n = 0; n < clicks; n++) { drop.click(); await new Promise((done) => setTimeout(done)); }
			return { acted, label: drop.textContent };
		};
	})`, nil)
	for clicks, want := range []string{"0 Drop", "0 Drop it?", "1 Drop", "1 Drop it?", "2 Drop"} {
		var got struct {
			Acted int
			Label string
		}
		p.Eval(fmt.Sprintf("press(%d)", clicks), &got)
		if got := fmt.Sprint(got.Acted, " ", got.Label); got != want {
			t.Errorf("after %d clicks: %q, want %q", clicks, got, want)
		}
	}
}

func TestAnOperatorSearchesTheTrailOnThePage(t *testing.T) {
	b := browsertest.Start(t)
	c := &control{name: "tide tables.pdf"}
	p := b.Open(serveIn(t, c).SignIn(), phone)
	p.Wait(ready)
	p.Eval(`for (const [id, value] of Object.entries({ words: "Tide & <b>", event: "refused", from: "2027-01-05", to: "2027-01-06" })) document.getElementById(id).value = value;
		document.querySelector("#search button").click()`, nil)
	p.Wait(`document.getElementById("audit").innerText.includes("tide tables.pdf · 1000 bytes")`)
	await(t, "the search with its two days", func() bool { return c.did("audit Tide & <b>, refused, true, 48h0m0s") })
	var text string
	p.Eval(`document.getElementById("audit").innerText`, &text)
	for _, want := range []string{"refused · screened", "SHA-256", "took too long"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	p.Eval(`document.getElementById("leave").click()`, nil)
	p.Wait(`document.getElementById("main").hidden && document.querySelectorAll("#audit li").length === 0 && document.getElementById("words").value === ""`)
}

// A host that hung, and did not refuse connections, left a page that looked alive.
func TestAPageOfAHostThatHangsLookedAlive(t *testing.T) {
	b := browsertest.Start(t)
	c := &hanging{control: &control{name: "x"}, end: make(chan struct{})}
	page := serveIn(t, c)
	t.Cleanup(func() { close(c.end) }) // before the page ends
	p := b.Open(page.SignIn(), phone)
	p.Wait(ready)
	c.hangs.Store(true)
	p.Wait(`document.getElementById("news").textContent.includes("takes longer than 10 seconds")`)
}

// hanging is a host that stops answering.
type hanging struct {
	*control
	hangs atomic.Bool
	end   chan struct{}
}

func (h *hanging) Status(ctx context.Context) (operator.Status, error) {
	if h.hangs.Load() {
		<-h.end // hears of no deadline
	}
	return h.control.Status(ctx)
}

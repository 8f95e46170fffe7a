//go:build e2e

package web_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/internal/browsertest"
	"github.com/longshore-bridge/longshore/media"
)

var (
	desk  = browsertest.Screen{Width: 1200, Height: 820}
	phone = browsertest.Screen{Width: 360, Height: 740, Phone: true}
)

// talk fills a chat with what a chat has.
func talk(s *site) {
	s.say("Good morning! Can somebody send the numbers for the harbour project?")
	s.send(channel.Message{Text: "Good morning, Ann. I have them here: **three** files, the chart first.\nThe script is `plot.py`, and the source is https://example.org/data?q=1."})
	s.send(channel.Message{Text: "Arrivals per week", Files: outgoing("arrivals.png", "image/png", media.Image, chart(s.t, 960, 540))})
	s.send(channel.Message{Files: outgoing("Quarterly report, harbour project, final version.pdf", "application/pdf", media.Document, bytes.Repeat([]byte("%PDF-1.7 "), 20000))})
	s.send(channel.Message{Files: outgoing("raw-data.csv", "text/csv", media.Document, []byte("week,ships\n1,12\n"))})
	s.upload(map[string]string{"text": "Thanks! Here is our side of it", "from": "Bob"}, attachment{"minutes.docx", bytes.Repeat([]byte("x"), 48213)})
	m := s.say("Lovely.")
	s.send(channel.Message{ReplyTo: m.ID, Text: "You are welcome. To draw it yourself:\n```sh\nuv run plot.py --weeks 12 --out arrivals.png\n```\nTell me if it should look _different_."})
}

// fits says that nothing sticks out to the side.
func fits(t *testing.T, p *browsertest.Tab) {
	t.Helper()
	var out []string
	p.Eval(`[...document.querySelectorAll(".bar > *, .composer .row > *, .bubble, .pill")].filter((n) => n.checkVisibility() && (n.getBoundingClientRect().right > innerWidth || n.getBoundingClientRect().left < 0)).map((n) => n.className || n.id)
		.concat(document.documentElement.scrollWidth > innerWidth ? ["page"] : [], document.getElementById("log").scrollWidth > document.getElementById("log").clientWidth ? ["log"] : [])`, &out)
	if len(out) > 0 {
		t.Errorf("outside the page's width: %v", out)
	}
}

func TestAMemberWritesAndTheAssistantAnswersLive(t *testing.T) {
	s := start(t, options(t.TempDir()))
	answering(s, func(m channel.Inbound) channel.Message {
		return channel.Message{Text: "You said: " + m.Text, ReplyTo: m.ID}
	})
	p := browsertest.Start(t).Open(s.at("/c/family"), desk)
	p.Wait(`document.getElementById("state").textContent === "with Andy"`)
	p.Shot("empty.png")
	p.Write("Hello there")
	p.Enter()
	p.Wait(`document.querySelector("#messages .own .text")?.textContent === "Hello there"`)
	p.Wait(`[...document.querySelectorAll("#messages .other .text")].some((n) => n.textContent === "You said: Hello there")`)
	p.Wait(`document.querySelector("#messages .other .quote span").textContent === "Hello there"`)
	p.Wait(`document.querySelectorAll("#pending li").length === 0 && document.getElementById("typing").hidden`)
	p.Shot("chat.png")
	s.in.wait(t, func() bool { return len(s.in.reports) == 2 })
}

func TestThePageLooksRight(t *testing.T) {
	s := start(t, options(t.TempDir()))
	talk(s)
	s.Typing(t.Context(), "web:family", "", true)
	c := browsertest.Start(t)
	for name, view := range map[string]browsertest.Screen{
		"desk-light.png": desk, "phone-light.png": phone,
		"desk-dark.png":  {Width: 1200, Height: 820, Dark: true},
		"phone-dark.png": {Width: 360, Height: 740, Dark: true, Phone: true},
	} {
		p := c.Open(s.at("/c/family"), view)
		p.Wait(`document.querySelectorAll("#messages .msg").length === 8`)
		p.Wait(`document.getElementById("state").textContent === "Andy is working…"`)
		fits(t, p)
		var ground string
		p.Eval(`getComputedStyle(document.body).backgroundColor`, &ground)
		if dark := ground == "rgb(13, 22, 25)"; dark != view.Dark {
			t.Errorf("%s: the ground is %s", name, ground)
		}
		p.Shot(name)
		p.Eval(`document.getElementById("log").scrollTop = 0`, nil)
		p.Wait(`document.querySelector("#messages img").complete && document.querySelector("#messages img").naturalWidth === 960`)
		p.Shot("top-" + name)
	}
}

func TestMembersSeeTheirUploadGoUp(t *testing.T) {
	s := start(t, options(t.TempDir()))
	dir := t.TempDir()
	picture, data := filepath.Join(dir, "photo.png"), filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(picture, chart(t, 400, 300), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(data, bytes.Repeat([]byte("some notes\n"), 400_000), 0o600); err != nil {
		t.Fatal(err)
	}
	p := browsertest.Start(t).Open(s.at("/c/family"), phone)
	p.Wait(`document.getElementById("state").textContent === "with Andy"`)
	p.Choose(picture, data)
	p.Wait(`document.querySelectorAll("#tray li").length === 2`)
	p.Shot("tray.png")
	// A slow line, so that there is something to see.
	p.Do("Network.enable", nil)
	p.Do("Network.emulateNetworkConditions", map[string]any{"offline": false, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 3_000_000})
	p.Eval(`document.getElementById("text").focus()`, nil)
	p.Write("Two files")
	p.Eval(`document.getElementById("composer").requestSubmit()`, nil)
	p.Wait(`((b) => b.length === 2 && b[0].value === b[0].max && b[1].value > 0 && b[1].value < b[1].max)(document.querySelectorAll("#pending progress"))`)
	fits(t, p)
	p.Shot("uploading.png")
	p.Wait(`document.querySelectorAll("#messages .own").length === 2 && !document.querySelector("#pending li")`)
	p.Wait(`document.querySelector("#messages .own img")?.naturalWidth === 400`)
	p.Wait(`document.querySelector("#messages .card .name")?.textContent === "notes.txt"`)
	p.Shot("uploaded.png")
	if in := s.in.received(); len(in) != 1 || len(in[0].Files) != 2 || in[0].Text != "Two files" {
		t.Errorf("the host got %+v", in)
	}
}

func TestFilesOfTheAssistantArriveLive(t *testing.T) {
	s := start(t, options(t.TempDir()))
	p := browsertest.Start(t).Open(s.at("/c/family"), phone)
	p.Wait(`document.getElementById("state").textContent === "with Andy"`)
	slow := outgoing("holiday-pictures.zip", "application/zip", media.Document, bytes.Repeat([]byte("zip"), 1<<20))
	r, w := io.Pipe()
	slow[0].Content = channeltest.Opens(func() (io.ReadSeekCloser, error) { return &held{pipe: r}, nil })
	sent := make(chan error, 1)
	go func() {
		_, err := s.Send(t.Context(), channel.Message{ID: newID(), Chat: "web:family", Files: slow, Text: "All of them"})
		sent <- err
	}()
	// Two parts with a look at the page between them: the second part's
	// progress is told only when a tenth of a second lies behind the first.
	part := bytes.Repeat([]byte("zip"), 1<<19)
	p.Wait(`document.querySelector("#arriving .name").textContent === "holiday-pictures.zip"`)
	p.Eval(`new Promise((done) => setTimeout(done, 150))`, nil)
	if _, err := w.Write(part); err != nil {
		t.Fatal(err)
	}
	p.Wait(`document.querySelector("#arriving progress").value > 1000000 && document.getElementById("state").textContent === "Andy is working…"`)
	fits(t, p)
	p.Shot("arriving.png")
	if _, err := w.Write(part); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	p.Wait(`!document.querySelector("#arriving .msg") && document.querySelector("#messages .card small").textContent === "3 MiB · Zip archive"`)
	s.send(channel.Message{Files: outgoing("chart.png", "image/png", media.Image, chart(t, 640, 360)), Text: "And the chart"})
	p.Wait(`document.querySelector("#messages .shot img").naturalWidth === 640`)
	p.Shot("arrived.png")
	p.Eval(`document.querySelector("#messages .shot").click()`, nil)
	p.Wait(`document.getElementById("lightbox").open && document.getElementById("lightimage").complete`)
	p.Shot("lightbox.png")
}

// Every place that shows foreign words gets words that try to be markup. The
// control is that the page does show them, as words.
func TestForeignWordsStayWords(t *testing.T) {
	const evil = `<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>`
	o := options(t.TempDir())
	o.Chats[0].Name, o.AssistantName = "Family"+evil, "Andy"+evil
	s := start(t, o)
	file := attachment{`"><img src=x onerror=pwned=1>.html`, []byte("<script>window.pwned=1</script>")}
	first := s.posted(s.upload(map[string]string{"text": evil + " javascript:pwned=1 [x](javascript:pwned=1) https://a.example/\"onclick=pwned=1", "from": evil}, file))
	s.send(channel.Message{Text: "```\n" + evil + "\n```\n**" + evil + "** `" + evil + "`", ReplyTo: first[0].ID})
	s.send(channel.Message{Text: evil, Files: outgoing("x.svg", "image/svg+xml", media.Document, []byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="pwned=1"/>`))})
	p := browsertest.Start(t).Open(s.at("/c/family"), desk)
	p.Wait(`document.querySelectorAll("#messages .msg").length === 3`)
	p.Wait(`document.querySelector("#messages .text").textContent.includes("<script>window.pwned=1</script>")`)
	p.Wait(`document.querySelector("#messages .quote span").textContent.startsWith("<img")`)
	fits(t, p)
	p.Shot("words.png")
	var out struct {
		Pwned  bool
		Images int
		Links  []string
	}
	p.Eval(`({ pwned: "pwned" in window, images: document.querySelectorAll("#messages img, #messages script").length, links: [...document.querySelectorAll("#messages .text a")].map((a) => a.protocol + " " + a.rel) })`, &out)
	if out.Pwned || out.Images != 0 || len(out.Links) != 1 || out.Links[0] != "https: noopener noreferrer" {
		t.Errorf("the page has %+v", out)
	}
	// The page refuses even its own attempt to make markup of a string.
	p.Eval(`(() => { try { document.body.insertAdjacentHTML("beforeend", "<b>x</b>"); return false; } catch { return true; } })()`, &out.Pwned)
	if !out.Pwned {
		t.Error("markup can be made of strings")
	}
	// Opened as a page, a file does not run either.
	f := s.history("")[0].File
	q := p.Open(s.at("/c/family"), desk)
	q.Eval(`fetch("`+f.URL+`").then((r) => r.headers.get("content-disposition").startsWith("attachment"))`, &out.Pwned)
	if !out.Pwned {
		t.Error("the file is not offered for saving only")
	}
}

func TestAReaderFarUpIsNotMoved(t *testing.T) {
	s := start(t, options(t.TempDir()))
	for i := range 120 {
		s.send(channel.Message{Text: fmt.Sprintf("line %d", i)})
	}
	p := browsertest.Start(t).Open(s.at("/c/family"), phone)
	p.Wait(`document.querySelectorAll("#messages .msg").length === 50`)
	p.Wait(`document.getElementById("state").textContent === "with Andy"`)
	// Going up brings what was before, and leaves in view what was in view.
	p.Eval(`document.getElementById("log").scrollTop = 0`, nil)
	p.Wait(`document.querySelectorAll("#messages .msg").length >= 100 && document.getElementById("log").scrollTop > 500`)
	s.send(channel.Message{Text: "news"})
	p.Wait(`!document.getElementById("newer").hidden && document.getElementById("newercount").textContent === "1 new message"`)
	fits(t, p)
	p.Shot("pill.png")
	p.Eval(`document.getElementById("newer").click()`, nil)
	p.Wait(`document.getElementById("newer").hidden && document.getElementById("log").scrollTop + document.getElementById("log").clientHeight > document.getElementById("log").scrollHeight - 5`)
	p.Eval(`document.getElementById("log").scrollTop = 0`, nil)
	p.Wait(`(() => { document.getElementById("log").scrollTop = 0; return document.querySelectorAll("#messages .msg").length === 121 && !document.getElementById("start").hidden; })()`)
	var order bool
	p.Eval(`[...document.querySelectorAll("#messages .text")].slice(0, 120).every((n, i) => n.textContent === "line " + i)`, &order)
	if !order {
		t.Error("the messages are out of order")
	}
}

func TestAPageThatLostItsHostCatchesUp(t *testing.T) {
	o := options(t.TempDir())
	s := start(t, o)
	s.say("before")
	p := browsertest.Start(t).Open(s.at("/c/family"), phone)
	p.Wait(`document.getElementById("state").textContent === "with Andy"`)
	o.Listen = s.Addr().String()
	s.stop()
	p.Wait(`document.getElementById("state").className === "off"`)
	fits(t, p)
	p.Shot("lost.png")
	p.Eval(`document.getElementById("text").focus()`, nil)
	p.Write("while it was away")
	p.Eval(`document.getElementById("composer").requestSubmit()`, nil)
	p.Wait(`document.querySelector("#pending .waits .trouble").textContent.includes("cannot be reached")`)
	fits(t, p)
	p.Shot("not-sent.png")
	s = start(t, o)
	s.send(channel.Message{Text: "after"})
	p.Wait(`[...document.querySelectorAll("#messages .text")].map((n) => n.textContent).sort().join() === "after,before,while it was away" && !document.querySelector("#pending li")`)
	if got := len(s.history("")); got != 3 {
		t.Errorf("the chat has %d messages", got)
	}
}

func TestTheOtherPagesLookRight(t *testing.T) {
	o := options(t.TempDir())
	o.Token = token
	s := start(t, o)
	c := browsertest.Start(t)
	p := c.Open(s.at("/"), phone)
	p.Wait(`document.querySelector("input[name=token]")`)
	p.Shot("login.png")
	writeToken(p)
	p.Wait(`document.querySelectorAll(".chatlist a").length === 2`)
	p.Shot("index.png")
	p.Eval(`document.querySelector(".chatlist a").click()`, nil)
	p.Wait(`document.getElementById("state")?.textContent === "with Andy"`)
	p.Eval(`document.getElementById("who").click()`, nil)
	p.Wait(`document.getElementById("whodialog").open`)
	p.Write("Ann-Sophie")
	p.Shot("name.png")
	p.Eval(`document.querySelector("#whodialog .primary").click()`, nil)
	p.Wait(`document.getElementById("whoname").textContent === "Ann-Sophie" && localStorage.getItem("longshore.name") === "Ann-Sophie"`)
}

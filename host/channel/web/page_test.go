package web_test

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

var (
	desk  = screen{width: 1200, height: 820}
	phone = screen{width: 360, height: 740, phone: true}
)

// chart draws a picture worth looking at.
func chart(t testing.TB, width, height int) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for x := range width {
		h := float64(height) * (0.55 + 0.25*math.Sin(float64(x)/70) + 0.12*math.Sin(float64(x)/23))
		for y := range height {
			c := color.RGBA{244, 248, 248, 255}
			if y%60 == 0 {
				c = color.RGBA{214, 224, 226, 255}
			}
			if float64(y) > h {
				c = color.RGBA{uint8(20 + y*60/height), 120, uint8(125 + y*60/height), 255}
			}
			img.Set(x, y, c)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// answering makes the assistant say what reply makes of a member's message.
func answering(s *site, reply func(channel.Inbound) channel.Message) {
	s.in.receive = func(ctx context.Context, m channel.Inbound) error {
		s.Typing(ctx, m.Chat, true)
		go func() {
			defer s.Typing(context.Background(), m.Chat, false)
			r := reply(m)
			r.ID, r.Chat = newID(), m.Chat
			if _, err := s.Send(context.Background(), r); err != nil {
				s.t.Error(err)
			}
		}()
		return nil
	}
}

// talk fills a chat with what a chat has.
func talk(s *site) {
	s.say("Good morning! Can somebody send the numbers for the harbour project?")
	s.send(channel.Message{Text: "Good morning, Ann. I have them here: **three** files, the chart first.\nThe script is `plot.py`, and the source is https://example.org/data?q=1."})
	s.send(channel.Message{Text: "Arrivals per week", File: outgoing("arrivals.png", "image/png", media.Image, chart(s.t, 960, 540))})
	s.send(channel.Message{File: outgoing("Quarterly report, harbour project, final version.pdf", "application/pdf", media.Document, bytes.Repeat([]byte("%PDF-1.7 "), 20000))})
	s.send(channel.Message{File: outgoing("raw-data.csv", "text/csv", media.Document, []byte("week,ships\n1,12\n"))})
	s.upload(map[string]string{"text": "Thanks! Here is our side of it", "from": "Bob"}, attachment{"minutes.docx", bytes.Repeat([]byte("x"), 48213)})
	m := s.say("Lovely.")
	s.send(channel.Message{ReplyTo: m.ID, Text: "You are welcome. To draw it yourself:\n```sh\nuv run plot.py --weeks 12 --out arrivals.png\n```\nTell me if it should look _different_."})
}

func TestAMemberWritesAndTheAssistantAnswersLive(t *testing.T) {
	s := start(t, options(t.TempDir()))
	answering(s, func(m channel.Inbound) channel.Message {
		return channel.Message{Text: "You said: " + m.Text, ReplyTo: m.ID}
	})
	p := browse(t).open(s.at("/c/family"), desk)
	p.wait(`document.getElementById("state").textContent === "with Andy"`)
	p.shot("empty.png")
	p.write("Hello there")
	p.enter()
	p.wait(`document.querySelector("#messages .own .text")?.textContent === "Hello there"`)
	p.wait(`[...document.querySelectorAll("#messages .other .text")].some((n) => n.textContent === "You said: Hello there")`)
	p.wait(`document.querySelector("#messages .other .quote span").textContent === "Hello there"`)
	p.wait(`document.querySelectorAll("#pending li").length === 0 && document.getElementById("typing").hidden`)
	p.shot("chat.png")
	s.in.wait(t, func() bool { return len(s.in.reports) == 2 })
}

func TestThePageLooksRight(t *testing.T) {
	s := start(t, options(t.TempDir()))
	talk(s)
	s.Typing(t.Context(), "web:family", true)
	c := browse(t)
	for name, view := range map[string]screen{
		"desk-light.png": desk, "phone-light.png": phone,
		"desk-dark.png":  {width: 1200, height: 820, dark: true},
		"phone-dark.png": {width: 360, height: 740, dark: true, phone: true},
	} {
		p := c.open(s.at("/c/family"), view)
		p.wait(`document.querySelectorAll("#messages .msg").length === 8`)
		p.wait(`document.getElementById("state").textContent === "Andy is working…"`)
		var wide bool
		p.eval(`document.documentElement.scrollWidth > innerWidth || document.getElementById("log").scrollWidth > document.getElementById("log").clientWidth`, &wide)
		if wide {
			t.Errorf("%s: the page can be scrolled sideways", name)
		}
		var ground string
		p.eval(`getComputedStyle(document.body).backgroundColor`, &ground)
		if dark := ground == "rgb(13, 22, 25)"; dark != view.dark {
			t.Errorf("%s: the ground is %s", name, ground)
		}
		p.shot(name)
		p.eval(`document.getElementById("log").scrollTop = 0`, nil)
		p.wait(`document.querySelector("#messages img").complete && document.querySelector("#messages img").naturalWidth === 960`)
		p.shot("top-" + name)
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
	p := browse(t).open(s.at("/c/family"), phone)
	p.wait(`document.getElementById("state").textContent === "with Andy"`)
	p.choose(picture, data)
	p.wait(`document.querySelectorAll("#tray li").length === 2`)
	p.shot("tray.png")
	// The bars are recorded as they move, since the whole takes an instant.
	p.eval(`window.bars = []; new MutationObserver(() => document.querySelectorAll("#pending progress").forEach((b) => bars.push(b.max + ":" + b.value)))
		.observe(document.getElementById("pending"), { subtree: true, childList: true, characterData: true })`, nil)
	p.eval(`document.getElementById("text").focus()`, nil)
	p.write("Two files")
	p.eval(`document.getElementById("composer").requestSubmit()`, nil)
	p.wait(`document.querySelectorAll("#messages .own").length === 2 && !document.querySelector("#pending li")`)
	p.wait(`document.querySelector("#messages .own img")?.naturalWidth === 400`)
	p.wait(`document.querySelector("#messages .card .name")?.textContent === "notes.txt"`)
	p.wait(`bars.includes("4400000:4400000")`)
	p.shot("uploaded.png")
	if in := s.in.received(); len(in) != 1 || len(in[0].Files) != 2 || in[0].Text != "Two files" {
		t.Errorf("the host got %+v", in)
	}
}

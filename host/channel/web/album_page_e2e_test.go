//go:build e2e

package web_test

import (
	"fmt"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/internal/browsertest"
	"github.com/longshore-bridge/longshore/media"
)

// bubbles are the messages that a page shows, each as its number of pictures and whether
// one of the words of interest is in it.
const bubbles = `[...document.querySelectorAll("#messages .msg:not([hidden])")].map((n) => n.querySelectorAll(".shot").length + (n.querySelector(".album") ? "a" : "") + (n.querySelector(".gone") ? "x" : "")).join()`

func photos(t testing.TB, n int) (all []attachment) {
	for i := range n {
		all = append(all, attachment{fmt.Sprintf("%d.png", i), chart(t, 300+60*i, 300)})
	}
	return all
}

func TestPicturesOfOneMessageStandInAGridAndGoTogether(t *testing.T) {
	s := start(t, options(t.TempDir()))
	pictures := photos(t, 3)
	mixed := s.writes(bob, "one of each", pictures[0], attachment{"a.txt", []byte("a")}, pictures[1], pictures[2])
	p := s.page(browsertest.Start(t), "/c/family", browsertest.Screen{Width: 360, Height: 740, Dark: true, Phone: true})
	p.Wait(bubbles + ` === "1,0,2a"`)
	mine := s.writes(ann, "Our holiday", pictures...)
	s.writes(ann, "and another", pictures[0])
	p.Wait(bubbles + ` === "1,0,2a,3a,1"`)
	p.Wait(of(mine) + `.querySelector(".text").textContent === "Our holiday" && [...` + of(mine) + `.querySelectorAll("img")].every((n) => n.naturalWidth > 0)`)
	fits(t, p)
	p.Eval(of(mine)+`.scrollIntoView()`, nil)
	p.Shot("album.png")
	p.Eval(of(mine)+`.querySelectorAll(".shot")[1].click()`, nil)
	p.Wait(`document.getElementById("lightname").textContent.startsWith("1.png")`)
	p.Eval(`document.getElementById("lightbox").close()`, nil)
	s.acts(map[string]any{"kind": "reaction", "target": mine + "-2", "secret": bob, "from": "Bob", "emoji": "👍"})
	p.Wait(of(mine) + `.querySelector(".reactions")?.textContent === "👍" && ` + bubbles + ` === "1,0,2a,3a,1"`)
	s.acts(map[string]any{"kind": "deletion", "target": mine, "secret": ann, "from": "Ann"})
	p.Wait(bubbles + ` === "1,0,2a,0x,1"`)
	s.acts(map[string]any{"kind": "deletion", "target": mixed, "secret": bob, "from": "Bob"})
	p.Wait(bubbles + ` === "0x,0x,1"`)
	again := s.page(browsertest.Start(t), "/c/family", desk)
	again.Wait(bubbles + ` === "0x,0x,1"`)
}

func TestTheAssistantsPicturesOfOneRequestStandInAGrid(t *testing.T) {
	s := start(t, options(t.TempDir()))
	var ids []string
	for i, a := range photos(t, 5) {
		text := ""
		if i == 0 {
			text = "All charts"
		}
		ids = append(ids, s.send(channel.Message{Text: text, Files: outgoing(a.name, "image/png", media.Image, a.body)}).ID)
	}
	p := s.page(browsertest.Start(t), "/c/family", desk)
	p.Wait(bubbles + ` === "5a"`)
	p.Wait(`[...document.querySelectorAll(".album img")].every((n) => n.naturalWidth > 0)`)
	p.Shot("album-desk.png")
	fits(t, p)
	s.in.wait(t, func() bool { return len(s.in.reports) >= 5 }) // all are seen, not only the first
	s.must(s.Unsend(t.Context(), to(ids[2])))
	p.Wait(bubbles + ` === "2a,0x,2a"`)
	words := to(ids[4])
	words.Text = "The last one is wrong"
	s.must(s.Edit(t.Context(), words))
	p.Wait(bubbles + ` === "2a,0x,1,1"`)
	p.Eval(of(ids[0])+`.querySelector(".reply").click()`, nil)
	p.Wait(`document.getElementById("replytext").textContent === "All charts"`)
}

// A page that loads earlier messages may have the end of an album before its beginning.
func TestAnAlbumThatIsLoadedInTwoPartsIsWhole(t *testing.T) {
	s := start(t, options(t.TempDir()))
	for i := range 60 {
		s.say(fmt.Sprintf("earlier %d", i))
	}
	album := s.writes(ann, "", photos(t, 4)...)
	for i := range 48 { // the first page of 50 begins inside the album
		s.say(fmt.Sprintf("line %d", i))
	}
	p := s.page(browsertest.Start(t), "/c/family", phone)
	p.Wait(`document.querySelectorAll("#messages .msg").length >= 50`)
	p.Wait(`(() => { document.getElementById("log").scrollTop = 0; return document.querySelectorAll("#messages .msg").length === 112; })()`)
	p.Wait(of(album) + `.querySelectorAll(".album .shot").length === 4 && document.querySelectorAll("#messages .msg:not([hidden])").length === 109`)
}

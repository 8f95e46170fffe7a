//go:build e2e

package web_test

import (
	"fmt"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/internal/browsertest"
)

// behindLine is the message below the line of news; empty: there is no line.
const behindLine = `((n) => { while (n && !n.classList.contains("msg")) n = n.nextElementSibling; return n?.querySelector(".text").textContent ?? ""; })(document.querySelector("#messages .unseen"))`

func TestAReaderWhoComesBackBeginsAtTheFirstUnreadMessage(t *testing.T) {
	o := options(t.TempDir())
	s := start(t, o)
	s.say("read already")
	p := s.page(browsertest.Start(t), "/c/family", phone)
	p.Wait(`JSON.parse(localStorage.getItem("longshore.read") ?? "{}").family === "` + s.history("")[0].ID + `" && ` + behindLine + ` === ""`)
	p.Do("Page.navigate", map[string]any{"url": s.at("/c/work")})
	p.Wait(`document.body.dataset.chat === "work" && document.getElementById("state").textContent === "with Andy"`)
	for i := range 70 { // more than a page of the history
		s.send(channel.Message{Text: fmt.Sprintf("news %d", i)})
	}
	p.Do("Page.navigate", map[string]any{"url": s.at("/c/family")})
	p.Wait(`document.body.dataset.chat === "family" && ` + behindLine + ` === "news 0"`)
	p.Wait(`((r) => r.top >= 0 && r.bottom < innerHeight)(document.querySelector(".unseen").getBoundingClientRect()) && !document.getElementById("newer").hidden`)
	fits(t, p)
	p.Shot("unread.png")
	// What one writes oneself means that all is read.
	p.Wait(`document.getElementById("state").textContent === "with Andy"`)
	p.Eval(`document.getElementById("text").focus()`, nil)
	p.Write("I have read all")
	submit(p)
	p.Wait(ownTexts + ` === "I have read all" && ` + behindLine + ` === ""`)
	// News that arrive while the reader is further up get a line too, above the first.
	p.Eval(`document.getElementById("log").scrollTop = 600`, nil)
	p.Wait(`document.getElementById("newer").checkVisibility()`)
	s.send(channel.Message{Text: "later"})
	s.send(channel.Message{Text: "later still"})
	p.Wait(behindLine + ` === "later" && document.getElementById("newercount").textContent === "2 new messages"`)
	p.Do("Page.reload", nil)
	p.Wait(`document.querySelectorAll("#messages .msg").length >= 50 && document.getElementById("state").textContent === "with Andy" && ` + behindLine + ` === ""`)
}

func TestAReaderWhoScrollsUpInTheMomentOfAJumpToTheEndIsNotCarriedBack(t *testing.T) {
	s := start(t, options(t.TempDir()))
	for i := range 70 {
		s.send(channel.Message{Text: fmt.Sprintf("news %d", i)})
	}
	p := s.page(browsertest.Start(t), "/c/family", phone)
	p.Eval(`document.getElementById("log").scrollTop = 600`, nil)
	p.Wait(`document.getElementById("newer").checkVisibility()`)
	// Both come before the page hears of either.
	p.Eval(`document.getElementById("newer").click(), document.getElementById("log").scrollTop = 900`, nil)
	p.Wait(`document.getElementById("newer").checkVisibility()`)
	s.send(channel.Message{Text: "later"})
	p.Wait(behindLine + ` === "later" && document.getElementById("newercount").textContent === "1 new message"`)
}

func TestTheDayCoversNoPartOfALine(t *testing.T) {
	s := start(t, options(t.TempDir()))
	for i := range 40 {
		s.send(channel.Message{Text: fmt.Sprintf("line %d of a text that is as wide as the screen of the phone on which it is read", i)})
		s.say(fmt.Sprintf("answer %d, which is wide too, and stands at the other side of the screen", i))
	}
	c := browsertest.Start(t)
	for _, view := range []browsertest.Screen{phone, {Width: 1200, Height: 820, Dark: true}} {
		p := s.page(c, "/c/family", view)
		p.Eval(`document.getElementById("log").scrollTop -= 777`, nil)
		p.Wait(`((day, log) => Math.abs(day.top - log.top) < 1)(document.querySelector(".day").getBoundingClientRect(), document.getElementById("log").getBoundingClientRect())`)
		p.Shot("day.png")
		var covered bool
		p.Eval(`((day) => { const r = day.getBoundingClientRect();
			return [...document.querySelectorAll("#messages .bubble")].every((b) => b.getBoundingClientRect().left >= r.left && b.getBoundingClientRect().right <= r.right)
				&& getComputedStyle(day).backgroundColor === getComputedStyle(document.body).backgroundColor
				&& [r.left + 1, r.left + 40, r.right - 40, r.right - 1].every((x) => [r.top + 1, r.bottom - 1].every((y) => document.elementFromPoint(x, y).closest(".day") === day)); })(document.querySelector(".day"))`, &covered)
		if !covered {
			t.Errorf("on %d pixels, text shows beside the day", view.Width)
		}
	}
}

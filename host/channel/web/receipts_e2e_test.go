//go:build e2e

package web_test

import (
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/internal/browsertest"
	"github.com/longshore-bridge/longshore/media"
)

// A page that built a changed message anew took its tick from the host, which keeps no
// "read": "Read" became "Delivered" until a reload.
func TestReadFellBackAfterAReactionOrAnEdit(t *testing.T) {
	s := start(t, options(t.TempDir()))
	p := s.page(browsertest.Start(t), "/c/family", desk)
	p.Write("Thnaks")
	submit(p)
	p.Wait(`document.querySelectorAll("#messages .own").length === 1 && !document.querySelector("#pending li")`)
	var mine string
	p.Eval(`localStorage.getItem("longshore.secret")`, &mine)
	s.upload(map[string]string{"text": "two pictures", "from": "Member", "secret": mine}, attachment{"1.png", chart(t, 200, 200)}, attachment{"2.png", chart(t, 200, 200)})
	p.Wait(`document.querySelectorAll("#messages .own:not([hidden])").length === 2 && document.querySelectorAll("#messages .album .shot").length === 2`)
	s.send(channel.Message{Text: "A chart", Files: outgoing("a.png", "image/png", media.Image, chart(t, 200, 200))})
	ticks := func(want string) {
		t.Helper()
		p.Wait(`[...document.querySelectorAll("#messages .own:not([hidden]) .tick")].map((n) => n.title).join() === "` + want + `"`)
	}
	ticks("Read,Read")

	all := s.history("")
	text := all[0].ID
	for _, m := range all[:3] {
		liked := to(m.ID)
		liked.Emoji = "👍"
		s.must(s.React(t.Context(), liked))
	}
	p.Wait(`[...document.querySelectorAll("#messages .reactions")].map((n) => n.textContent).join() === "👍,👍 2"`)
	ticks("Read,Read")

	menu(p, text)
	click(p, "#edit")
	p.Wait(`document.getElementById("editdialog").open`)
	p.Eval(`document.getElementById("edittext").value = "Thanks"; document.getElementById("editform").requestSubmit()`, nil)
	p.Wait(of(text) + `.querySelector(".text").textContent === "Thanks" && ` + of(text) + `.querySelector(".edited") !== null`)
	ticks("Read,Read")

	// What is only delivered is not made "Read" by it.
	p.Eval(`document.getElementById("text").focus()`, nil)
	p.Write("later")
	submit(p)
	ticks("Read,Read,Delivered")
	liked := to(s.history("")[4].ID)
	liked.Emoji = "👀"
	s.must(s.React(t.Context(), liked))
	p.Wait(of(liked.Target) + `.querySelector(".reactions") !== null`)
	ticks("Read,Read,Delivered")
}

//go:build e2e

package web_test

import (
	"slices"
	"testing"

	"github.com/longshore-bridge/longshore/internal/browsertest"
)

func TestTwoBrowsersVoteAndSeeHowItEnds(t *testing.T) {
	s := start(t, options(t.TempDir()))
	id := s.ask(false, "Monday", "Tuesday <b>")
	phone := browsertest.Start(t).Open(s.at("/c/family"), browsertest.Screen{Width: 360, Height: 740, Dark: true, Phone: true})
	desk := browsertest.Start(t).Open(s.at("/c/family"), desk)
	const button = `document.querySelectorAll(".poll button")`
	for _, p := range []*browsertest.Tab{phone, desk} {
		p.Wait(button + `.length === 2 && ` + button + `[1].firstChild.textContent === "Tuesday <b>" && document.getElementById("state").textContent === "with Andy"`)
	}
	phone.Eval(button+`[0].click()`, nil)
	desk.Wait(`document.querySelector(".poll small").textContent === "Member" && ` + button + `[0].ariaPressed === "false"`)
	phone.Wait(button + `[0].ariaPressed === "true"`)
	desk.Eval(button+`[0].focus()`, nil)
	desk.Eval(button+`[0].click()`, nil)
	phone.Wait(`document.querySelector(".poll small").textContent === "Member, Member (2)"`)
	desk.Wait(button + `[0].ariaPressed === "true" && document.activeElement === ` + button + `[0]`)
	desk.Eval(button+`[1].click()`, nil)
	phone.Wait(`[...document.querySelectorAll(".poll .count")].map((n) => n.textContent).join() === "1,1"`)
	if got := s.did(3)[2]; got.From != "Member (2)" || !slices.Equal(got.Choices, []string{"Tuesday <b>"}) || got.Target != id {
		t.Errorf("the host got %+v", got)
	}
	fits(t, phone)
	phone.Shot("poll-open.png")
	end := to(id)
	end.Text = "Closed: one for each."
	s.must(s.EndPoll(t.Context(), end))
	for _, p := range []*browsertest.Tab{phone, desk} {
		p.Wait(`document.querySelector(".poll p").textContent === "Closed: one for each." && ` + button + `[0].disabled`)
	}
	phone.Shot("poll-closed.png")
	fits(t, desk)
}

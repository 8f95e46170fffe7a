//go:build e2e

package web_test

import (
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/internal/browsertest"
	"github.com/longshore-bridge/longshore/media"
)

func TestThePageShowsEditsReactionsAndWhatWasRemovedInPlace(t *testing.T) {
	s := start(t, options(t.TempDir()))
	asked := s.say("How far are you?")
	progress := s.send(channel.Message{Text: "10 %"}).ID
	picture := s.send(channel.Message{Text: "Arrivals", Files: outgoing("arrivals.png", "image/png", media.Image, chart(t, 400, 200))}).ID
	wrong := s.send(channel.Message{Text: "This was for somebody else"}).ID
	p := browsertest.Start(t).Open(s.at("/c/family"), browsertest.Screen{Width: 360, Height: 740, Dark: true, Phone: true})
	p.Wait(`document.querySelectorAll("#messages .msg").length === 4`)

	edit, seen, liked := to(progress), to(asked.ID), to(picture)
	edit.Text, seen.Emoji, liked.Emoji = "**100 %**, the report is below <b>", "👀", "👍"
	s.must(s.Edit(t.Context(), edit))
	s.must(s.React(t.Context(), seen))
	s.must(s.React(t.Context(), liked))
	s.must(s.Unsend(t.Context(), to(wrong)))
	p.Wait(of(wrong) + `.textContent.includes("This message was removed.")`)
	p.Wait(of(progress) + `.querySelector(".text").textContent === "100 %, the report is below <b>"`)
	p.Wait(of(progress) + `.querySelector(".edited").textContent === "edited"`)
	p.Wait(of(asked.ID) + `.querySelector(".reactions [role=img]").ariaLabel === "👀 by Andy"`)
	p.Wait(of(picture) + `.querySelector(".reactions").textContent === "👍"`)
	p.Wait(`document.querySelectorAll("#messages .msg").length === 4 && !` + of(wrong) + `.textContent.includes("somebody else")`)
	fits(t, p)
	p.Shot("changes.png")

	// A page that is opened afterwards shows the same.
	again := browsertest.Start(t).Open(s.at("/c/family"), desk)
	again.Wait(of(progress) + `?.querySelector(".edited") !== null && ` + of(wrong) + `.querySelector(".gone") !== null`)
	again.Wait(of(picture) + `.querySelector(".reactions").textContent === "👍"`)
}

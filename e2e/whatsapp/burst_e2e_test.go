//go:build e2e

package whatsapp

import (
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/internal/browsertest"
)

// A member answers a picture that lies in the chat, in a browser: the assistant has
// it, be it the member's own or the assistant's.
func TestAQuoteOnThePageReachesTheAssistant(t *testing.T) {
	b := browsertest.Start(t)
	g, _ := guestOf(t, stage.DemoConfig(t))
	g.Sees(g.Posts("show a picture", "", nil), says("That was a picture"))
	p := b.Open(g.Base+"/c/family", browsertest.Screen{Width: 1200, Height: 820})
	p.Wait(`document.querySelector("#messages .shot img")?.naturalWidth > 300`)
	p.Eval(`document.querySelector("#messages .shot img").closest("li").querySelector("button.reply").click()`, nil)
	p.Wait(`!document.getElementById("replybar").hidden`)
	p.Write("what do you see?")
	p.Enter()
	p.Wait(`[...document.querySelectorAll("#messages .other .text")].some((n) => n.textContent.startsWith("Thank you for the picture harbour-week"))`)
	p.Wait(`document.querySelectorAll("#messages .shot img").length === 2`)
	p.Shot("quote.png")

	boat := g.Posts("", "", map[string]string{"boat.txt": "a boat"})
	g.Sees(boat, says("Thank you for boat.txt!"))
	answers := g.Sees(g.Posts("once more", boat, nil), says("Thank you for boat.txt!"))
	if body := stage.Fetch(t, g.Base+fileIn(t, answers).URL); body != "a boat" {
		t.Errorf("the answered file came back as %q", body)
	}
}

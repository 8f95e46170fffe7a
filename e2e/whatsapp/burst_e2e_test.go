//go:build e2e

package whatsapp

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest/baileys"
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

// Clara's client is Baileys: she sends a document and the trigger in one burst, then
// answers the assistant's picture, and her own document. Each answer brings the file.
func TestABaileysMembersBurstAndQuotesReachTheAssistant(t *testing.T) {
	h := stage.HarbourWith(t, "", `assistant: sample, trigger: "@Andy"`)
	phone := h.Srv.AddPhone(claraNumber, "Clara")
	h.Srv.AddMember(h.Group, claraNumber)
	clara := baileys.New(t, h.Srv)
	if err := clara.PairQR(stage.Soon(t), phone); err != nil {
		t.Fatal(err)
	}
	h.Link()
	host := h.Serve()
	sends := func(f baileys.Message) string {
		t.Helper()
		f.Chat = h.Group.String()
		id, err := clara.Send(stage.Soon(t), f)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	seen := map[string]bool{}
	gets := func(what string, is func(baileys.Event) bool) baileys.Event {
		t.Helper()
		e, err := clara.Await(stage.Soon(t), func(e baileys.Event) bool { return e.Event == "message" && !seen[e.ID] && is(e) })
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		seen[e.ID] = true
		return e
	}
	document := func(e baileys.Event) bool { return e.Kind == "document" }
	image := func(e baileys.Event) bool { return e.Kind == "image" }
	thanks := func(e baileys.Event) bool { return strings.HasPrefix(e.Text, "Thank you for ") }

	path := filepath.Join(t.TempDir(), "manifest")
	if err := os.WriteFile(path, bytes.Repeat([]byte("manifest of the ship\n"), 2000), 0o600); err != nil {
		t.Fatal(err)
	}
	own := sends(baileys.Message{Kind: "document", Path: path, Name: "manifest.txt", MIME: "text/plain"})
	sends(baileys.Message{Kind: "text", Text: "@Andy"})
	back := gets("the document", document)
	gets("the kind word", thanks)

	sends(baileys.Message{Kind: "text", Text: "@Andy show a picture"})
	picture := gets("the picture", image)
	sends(baileys.Message{Kind: "text", Text: "what is this?", Quoted: picture.ID})
	if again := gets("the picture that was answered", image); again.Error != "" || again.Width != picture.Width || !wrote(h, again.SHA256) {
		t.Errorf("the answered picture came back as %+v", again)
	}
	gets("the kind word", thanks)
	sends(baileys.Message{Kind: "reaction", About: own, Text: "👍"}) // starts nothing
	sends(baileys.Message{Kind: "text", Text: "@Andy and this?", Quoted: back.ID})
	if again := gets("the document that was answered", document); again.SHA256 != back.SHA256 {
		t.Errorf("%+v came back, want %s", again, back.SHA256)
	}
	gets("the kind word", thanks)
	host.Stop()
}

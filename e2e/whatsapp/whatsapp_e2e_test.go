//go:build e2e

package whatsapp

import (
	"regexp"
	"strings"
	"testing"

	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
	"github.com/longshore-bridge/longshore/internal/browsertest"
)

func TestANarrowTerminalPairsByThePage(t *testing.T) {
	b := browsertest.Start(t)
	h := stage.NewHarbour(t)
	term := h.Terminal(40, 24, "pair", "whatsapp")
	address := term.Await(regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+/[A-Z0-9]+/`))
	term.Await(regexp.MustCompile(`open the page, or give --phone`))
	if strings.ContainsAny(term.Screen(), "█▀▄") {
		t.Errorf("a code was drawn where it does not fit:\n%s", term.Screen())
	}
	p := b.Open(address, browsertest.Screen{Width: 480, Height: 720})
	p.Wait(`document.querySelector("img")?.naturalWidth > 0 && /A new code in \d+ s/.test(document.getElementById("state").textContent)`)
	code := scanned(t, p.Shot("pair-page.png"))
	if _, err := h.Phone.Scan(stage.Soon(t), code); err != nil {
		t.Fatal(err)
	}
	p.Wait(`document.getElementById("state").textContent.startsWith("Linked")`)
	p.Shot("pair-done.png")
	term.Await(regexp.MustCompile(`linked to ` + stage.OurNumber))
	term.Ended()
}

// TestAKilledHostLosesAndRepeatsNothingOnWhatsApp kills the host while the
// report is on its way, at several moments, and starts it again.
func TestAKilledHostLosesAndRepeatsNothingOnWhatsApp(t *testing.T) {
	moments := map[string]whatsapptest.Fault{
		"while the file is uploaded":       {On: whatsapptest.OnUpload, Do: whatsapptest.Hold},
		"before the message is taken":      {On: whatsapptest.OnMessage, Do: whatsapptest.Hold, Kind: "media"},
		"before the acknowledgement comes": {On: whatsapptest.OnMessage, Do: whatsapptest.LoseAck, Kind: "media"},
	}
	for name, fault := range moments {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := stage.NewHarbour(t)
			h.Link()
			host := h.Serve()
			fault.Phone = stage.OurNumber
			if fault.On == whatsapptest.OnUpload {
				fault.Phone = ""
			}
			script := h.Srv.Fail(fault)
			if _, err := h.Anna.SendText(stage.Soon(t), h.Group, "send me the report"); err != nil {
				t.Fatal(err)
			}
			select {
			case <-script.Hit():
			case <-stage.Soon(t).Done():
				t.Fatal("the fault never struck")
			}
			host.Cmd.Process.Kill()
			host.Cmd.Wait()
			script.Release()
			if err := h.Srv.Await(stage.Soon(t), func() bool { return !h.Phone.Online() }); err != nil {
				t.Fatal(err)
			}
			again := h.Serve()
			files(h, 2)
			again.Stop()
			seen := map[string]int{}
			for _, m := range h.Anna.Messages() {
				seen[m.Info.ID]++
			}
			for id, n := range seen {
				if n > 1 {
					t.Logf("%s came %d times with one id: the app shows it once", id, n)
				}
			}
			if ids := mediaIDs(h.Anna.Messages()); len(ids) != 2 {
				t.Errorf("Anna sees %d files, not 2", len(ids))
			}
		})
	}
}

// files waits until Anna has seen n files of different ids.
func files(h *stage.Harbour, n int) {
	h.T.Helper()
	for len(mediaIDs(h.Anna.Messages())) < n {
		if _, err := h.Anna.Next(stage.Soon(h.T)); err != nil {
			h.T.Fatalf("%d of %d files came: %v", len(mediaIDs(h.Anna.Messages())), n, err)
		}
	}
}

func mediaIDs(messages []*events.Message) map[string]bool {
	ids := map[string]bool{}
	for _, m := range messages {
		if m.Message.GetDocumentMessage() != nil || m.Message.GetImageMessage() != nil || m.Message.GetDocumentWithCaptionMessage() != nil {
			ids[m.Info.ID] = true
		}
	}
	return ids
}

//go:build e2e

package whatsapp

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest/baileys"
)

// Clara's client is Baileys, which shares no code with ours: her document lies
// in the assistant's inbox, and the files that the assistant sends are with her,
// byte for byte.
func TestABaileysMemberSendsADocumentAndReceivesTheReport(t *testing.T) {
	h := stage.NewHarbour(t)
	phone := h.Srv.AddPhone(claraNumber, "Clara")
	h.Srv.AddMember(h.Group, claraNumber)
	clara := baileys.New(t, h.Srv)
	if err := clara.PairQR(stage.Soon(t), phone); err != nil {
		t.Fatal(err)
	}
	h.Link()
	host := h.Serve()
	data := bytes.Repeat([]byte("manifest of the ship\n"), 20_000)
	path := filepath.Join(t.TempDir(), "manifest")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := clara.Send(stage.Soon(t), baileys.Message{
		Kind: "document", Chat: h.Group.String(), Path: path, Name: "manifest — 書類.txt", MIME: "text/plain", Text: "send me the report",
	}); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"document", "image"} {
		e, err := clara.Await(stage.Soon(t), func(e baileys.Event) bool { return e.Event == "message" && e.Kind == kind })
		if err != nil {
			t.Fatalf("the report's %s: %v", kind, err)
		}
		if e.Error != "" || !wrote(h, e.SHA256) {
			t.Errorf("Clara holds a %s that the assistant did not write: %+v", kind, e)
		}
	}
	got, err := os.ReadFile(filepath.Join(h.Dir, "state/groups/crew/inbox/manifest — 書類.txt"))
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("the inbox has %d bytes of the document, want %d: %v", len(got), len(data), err)
	}
	host.Stop()
}

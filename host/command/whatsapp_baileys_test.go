package command

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

const claraNumber = "4915550000003"

// Clara's client is Baileys, which shares no code with ours: her document lies
// in the assistant's inbox, and the files that the assistant sends are with her,
// byte for byte.
func TestABaileysMemberSendsADocumentAndReceivesTheReport(t *testing.T) {
	h := newHarbour(t)
	phone := h.srv.AddPhone(claraNumber, "Clara")
	h.srv.AddMember(h.group, claraNumber)
	clara := h.srv.NewBaileys(t)
	if err := clara.PairQR(soon(t), phone); err != nil {
		t.Fatal(err)
	}
	h.link()
	host := h.serve()
	data := bytes.Repeat([]byte("manifest of the ship\n"), 20_000)
	path := filepath.Join(t.TempDir(), "manifest")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := clara.Send(soon(t), whatsapptest.BaileysFile{
		Kind: "document", Chat: h.group.String(), Path: path, Name: "manifest — 書類.txt", MIME: "text/plain", Text: "send me the report",
	}); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"document", "image"} {
		e, err := clara.Await(soon(t), func(e whatsapptest.BaileysEvent) bool { return e.Event == "message" && e.Kind == kind })
		if err != nil {
			t.Fatalf("the report's %s: %v", kind, err)
		}
		if e.Error != "" || !h.wrote(e.SHA256) {
			t.Errorf("Clara holds a %s that the assistant did not write: %+v", kind, e)
		}
	}
	got, err := os.ReadFile(filepath.Join(h.dir, "state/groups/crew/inbox/manifest — 書類.txt"))
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("the inbox has %d bytes of the document, want %d: %v", len(got), len(data), err)
	}
	host.stop()
}

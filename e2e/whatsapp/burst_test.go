package whatsapp

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/media"
)

// gathered is the sample assistant behind a page, with the time to gather that a new
// installation has.
const gathered = `state: ./state
limits: {free_disk: 1MB}
channels: {web: {listen: "127.0.0.1:0"}}
assistants: {sample: {agent: sample}}
groups: [{name: Family, folder: family, chat: "web:family", assistant: sample, trigger: "@Andy"}]
`

func guestOf(t *testing.T, config string) (stage.Guest, *serve.Host) {
	t.Helper()
	h := stage.StartHost(t, stage.ConfigIn(t, filepath.Join(t.TempDir(), "longshore.yaml"), config), nil)
	return stage.Guest{Member: stage.Member{Base: strings.TrimRight(stage.WebOf(h).URL(), "/"), Chat: "family"}, T: t}, h
}

// says is a text of the assistant that begins so.
func says(beginning string) func([]web.Message) bool {
	return func(answers []web.Message) bool {
		for _, m := range answers {
			if strings.HasPrefix(m.Text, beginning) {
				return true
			}
		}
		return false
	}
}

// fileIn is the first file among messages.
func fileIn(t testing.TB, messages []web.Message) *web.File {
	t.Helper()
	for _, m := range messages {
		if m.File != nil {
			return m.File
		}
	}
	t.Fatalf("no file in %+v", messages)
	return nil
}

// A member meets the sample assistant: each thing that it shows arrives as what it is,
// and no markup of the prompt does.
func TestTheSampleAssistantIsAGoodHost(t *testing.T) {
	g, _ := guestOf(t, stage.DemoConfig(t))
	for _, c := range []struct {
		words, answer string
		kind          media.Kind
		mime          string
	}{
		{"show a picture", "That was a picture", media.Image, "image/png"},
		{"show me a PDF, please", "That was a PDF", media.Document, "application/pdf"},
		{"show a voice note", "That was the foghorn", media.Voice, "audio/ogg"},
	} {
		got := g.Sees(g.Posts(c.words, "", nil), says(c.answer))
		if f := fileIn(t, got); f.Kind != c.kind || !strings.HasPrefix(f.MIME, c.mime) {
			t.Errorf("%s: %s, %s", c.words, f.Kind, f.MIME)
		}
	}
	for words, part := range map[string]string{"show markdown": "| Anna | 412 |", "show a schedule": "I do not remind you"} {
		g.Sees(g.Posts(words, "", nil), func(answers []web.Message) bool {
			return len(answers) == 1 && strings.HasPrefix(answers[0].Text, "## ") && strings.Contains(answers[0].Text, part)
		})
	}
	got := g.Sees(g.Posts("", "", map[string]string{"boat & co.txt": "a boat"}), says("Thank you for boat & co.txt! "))
	if body := stage.Fetch(t, g.Base+fileIn(t, got).URL); body != "a boat" {
		t.Errorf("%q came back", body)
	}
	g.Sees(g.Posts("look at these", "", map[string]string{"1.txt": "one", "2.txt": "two"}), says("Thank you for these 2 files!"))
	var page struct{ Messages []web.Message }
	if err := g.Call(t.Context(), http.MethodGet, g.Messages(), nil, &page); err != nil {
		t.Fatal(err)
	}
	for _, m := range page.Messages {
		for _, markup := range []string{"<message", "<attachment", "<context", "<notice", "&amp;", "&lt;", "_id="} {
			if m.Assistant && strings.Contains(m.Text, markup) {
				t.Errorf("the chat shows %q", m.Text)
			}
		}
	}
}

// Two files and the trigger, one after the other, get one answer with both files.
func TestABurstOnThePageGetsOneAnswer(t *testing.T) {
	g, _ := guestOf(t, gathered)
	asked := g.Posts("", "", map[string]string{"1.txt": "one"})
	g.Posts("@Andy", "", nil)
	g.Posts("", "", map[string]string{"2.txt": "two"})
	answers := g.Sees(asked, says("Thank you for these 2 files!"))
	if len(answers) != 3 {
		t.Errorf("%d messages came back, want two files and a word: %+v", len(answers), answers)
	}
}

// Clara's client is Baileys: she sends a document and the trigger in one burst, then
// answers the assistant's picture, and her own document. Each answer brings the file.
func TestABaileysMembersBurstAndQuotesReachTheAssistant(t *testing.T) {
	h := stage.HarbourWith(t, "", `assistant: sample, trigger: "@Andy"`)
	phone := h.Srv.AddPhone(claraNumber, "Clara")
	h.Srv.AddMember(h.Group, claraNumber)
	clara := h.Srv.NewBaileys(t)
	if err := clara.PairQR(stage.Soon(t), phone); err != nil {
		t.Fatal(err)
	}
	h.Link()
	host := h.Serve()
	sends := func(f whatsapptest.BaileysFile) string {
		t.Helper()
		f.Chat = h.Group.String()
		id, err := clara.Send(stage.Soon(t), f)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	seen := map[string]bool{}
	gets := func(what string, is func(whatsapptest.BaileysEvent) bool) whatsapptest.BaileysEvent {
		t.Helper()
		e, err := clara.Await(stage.Soon(t), func(e whatsapptest.BaileysEvent) bool { return e.Event == "message" && !seen[e.ID] && is(e) })
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		seen[e.ID] = true
		return e
	}
	document := func(e whatsapptest.BaileysEvent) bool { return e.Kind == "document" }
	image := func(e whatsapptest.BaileysEvent) bool { return e.Kind == "image" }
	thanks := func(e whatsapptest.BaileysEvent) bool { return strings.HasPrefix(e.Text, "Thank you for ") }

	path := filepath.Join(t.TempDir(), "manifest")
	if err := os.WriteFile(path, bytes.Repeat([]byte("manifest of the ship\n"), 2000), 0o600); err != nil {
		t.Fatal(err)
	}
	own := sends(whatsapptest.BaileysFile{Kind: "document", Path: path, Name: "manifest.txt", MIME: "text/plain"})
	sends(whatsapptest.BaileysFile{Kind: "text", Text: "@Andy"})
	back := gets("the document", document)
	gets("the kind word", thanks)

	sends(whatsapptest.BaileysFile{Kind: "text", Text: "@Andy show a picture"})
	picture := gets("the picture", image)
	sends(whatsapptest.BaileysFile{Kind: "text", Text: "what is this?", Quoted: picture.ID})
	if again := gets("the picture that was answered", image); again.Error != "" || again.Width != picture.Width || !wrote(h, again.SHA256) {
		t.Errorf("the answered picture came back as %+v", again)
	}
	gets("the kind word", thanks)
	sends(whatsapptest.BaileysFile{Kind: "reaction", About: own, Text: "👍"}) // starts nothing
	sends(whatsapptest.BaileysFile{Kind: "text", Text: "@Andy and this?", Quoted: back.ID})
	if again := gets("the document that was answered", document); again.SHA256 != back.SHA256 {
		t.Errorf("%+v came back, want %s", again, back.SHA256)
	}
	gets("the kind word", thanks)
	host.Stop()
}

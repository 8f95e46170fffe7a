package whatsapp

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
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
func says(beginning string) func([]history.Message) bool {
	return func(answers []history.Message) bool {
		for _, m := range answers {
			if strings.HasPrefix(m.Text, beginning) {
				return true
			}
		}
		return false
	}
}

// fileIn is the first file among messages.
func fileIn(t testing.TB, messages []history.Message) *history.File {
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
		g.Sees(g.Posts(words, "", nil), func(answers []history.Message) bool {
			return len(answers) == 1 && strings.HasPrefix(answers[0].Text, "## ") && strings.Contains(answers[0].Text, part)
		})
	}
	got := g.Sees(g.Posts("", "", map[string]string{"boat & co.txt": "a boat"}), says("Thank you for boat & co.txt! "))
	if body := stage.Fetch(t, g.Base+fileIn(t, got).URL); body != "a boat" {
		t.Errorf("%q came back", body)
	}
	g.Sees(g.Posts("look at these", "", map[string]string{"1.txt": "one", "2.txt": "two"}), says("Thank you for these 2 files!"))
	var page struct{ Messages []history.Message }
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

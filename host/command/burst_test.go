package command

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/internal/browsertest"
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

// guest is a member at the page of a host.
type guest struct {
	member
	t testing.TB
}

func guestOf(t *testing.T, config string) (guest, *serve.Host) {
	t.Helper()
	h := startHost(t, configIn(t, filepath.Join(t.TempDir(), "longshore.yaml"), config), nil)
	return guest{member{strings.TrimRight(webOf(h).URL(), "/"), "family"}, t}, h
}

// posts writes a message with files, as the page does, and returns its id.
func (g guest) posts(text, answers string, files map[string]string) string {
	g.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range map[string]string{"from": "Ann", "text": text, "replyTo": answers} {
		if err := form.WriteField(name, value); err != nil {
			g.t.Fatal(err)
		}
	}
	for name, content := range files {
		part, err := form.CreateFormFile("files", name)
		if err != nil {
			g.t.Fatal(err)
		}
		_, _ = part.Write([]byte(content)) // to memory
	}
	_ = form.Close()
	resp, err := http.Post(g.messages(), form.FormDataContentType(), &body)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	var posted struct{ Messages []web.Message }
	if err := json.NewDecoder(resp.Body).Decode(&posted); err != nil || len(posted.Messages) == 0 {
		g.t.Fatalf("post: %s, %v", resp.Status, err)
	}
	return posted.Messages[0].ID
}

// sees returns what the assistant wrote after a message, once is says that it is
// there.
func (g guest) sees(after string, is func([]web.Message) bool) []web.Message {
	g.t.Helper()
	var answers []web.Message
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var page struct{ Messages []web.Message }
		if err := g.call(g.t.Context(), http.MethodGet, g.messages()+"?after="+after, nil, &page); err != nil {
			g.t.Fatal(err)
		}
		answers = nil
		for _, m := range page.Messages {
			if m.Assistant {
				answers = append(answers, m)
			}
		}
		if is(answers) {
			return answers
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("the chat has %+v", answers)
		}
	}
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
	g, _ := guestOf(t, string(demoConfig))
	for _, c := range []struct {
		words, answer string
		kind          media.Kind
		mime          string
	}{
		{"show a picture", "That was a picture", media.Image, "image/png"},
		{"show me a PDF, please", "That was a PDF", media.Document, "application/pdf"},
		{"show a voice note", "That was the foghorn", media.Voice, "audio/ogg"},
	} {
		got := g.sees(g.posts(c.words, "", nil), says(c.answer))
		if f := fileIn(t, got); f.Kind != c.kind || !strings.HasPrefix(f.MIME, c.mime) {
			t.Errorf("%s: %s, %s", c.words, f.Kind, f.MIME)
		}
	}
	for words, part := range map[string]string{"show markdown": "| Anna | 412 |", "show a schedule": "I do not remind you"} {
		g.sees(g.posts(words, "", nil), func(answers []web.Message) bool {
			return len(answers) == 1 && strings.HasPrefix(answers[0].Text, "## ") && strings.Contains(answers[0].Text, part)
		})
	}
	got := g.sees(g.posts("", "", map[string]string{"boat & co.txt": "a boat"}), says("Thank you for boat & co.txt! "))
	if body := fetch(t, g.base+fileIn(t, got).URL); body != "a boat" {
		t.Errorf("%q came back", body)
	}
	g.sees(g.posts("look at these", "", map[string]string{"1.txt": "one", "2.txt": "two"}), says("Thank you for these 2 files!"))
	var page struct{ Messages []web.Message }
	if err := g.call(t.Context(), http.MethodGet, g.messages(), nil, &page); err != nil {
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
	asked := g.posts("", "", map[string]string{"1.txt": "one"})
	g.posts("@Andy", "", nil)
	g.posts("", "", map[string]string{"2.txt": "two"})
	answers := g.sees(asked, says("Thank you for these 2 files!"))
	if len(answers) != 3 {
		t.Errorf("%d messages came back, want two files and a word: %+v", len(answers), answers)
	}
}

// A member answers a picture that lies in the chat, in a browser: the assistant has
// it, be it the member's own or the assistant's.
func TestAQuoteOnThePageReachesTheAssistant(t *testing.T) {
	b := browsertest.Start(t)
	g, _ := guestOf(t, string(demoConfig))
	g.sees(g.posts("show a picture", "", nil), says("That was a picture"))
	p := b.Open(g.base+"/c/family", browsertest.Screen{Width: 1200, Height: 820})
	p.Wait(`document.querySelector("#messages .shot img")?.naturalWidth > 300`)
	p.Eval(`document.querySelector("#messages .shot img").closest("li").querySelector("button.reply").click()`, nil)
	p.Wait(`!document.getElementById("replybar").hidden`)
	p.Write("what do you see?")
	p.Enter()
	p.Wait(`[...document.querySelectorAll("#messages .other .text")].some((n) => n.textContent.startsWith("Thank you for the picture harbour-week"))`)
	p.Wait(`document.querySelectorAll("#messages .shot img").length === 2`)
	p.Shot("quote.png")

	boat := g.posts("", "", map[string]string{"boat.txt": "a boat"})
	g.sees(boat, says("Thank you for boat.txt!"))
	answers := g.sees(g.posts("once more", boat, nil), says("Thank you for boat.txt!"))
	if body := fetch(t, g.base+fileIn(t, answers).URL); body != "a boat" {
		t.Errorf("the answered file came back as %q", body)
	}
}

// Clara's client is Baileys: she sends a document and the trigger in one burst, then
// answers the assistant's picture, and her own document. Each answer brings the file.
func TestABaileysMembersBurstAndQuotesReachTheAssistant(t *testing.T) {
	h := harbourWith(t, "", `assistant: sample, trigger: "@Andy"`)
	phone := h.srv.AddPhone(claraNumber, "Clara")
	h.srv.AddMember(h.group, claraNumber)
	clara := h.srv.NewBaileys(t)
	if err := clara.PairQR(soon(t), phone); err != nil {
		t.Fatal(err)
	}
	h.link()
	host := h.serve()
	sends := func(f whatsapptest.BaileysFile) string {
		t.Helper()
		f.Chat = h.group.String()
		id, err := clara.Send(soon(t), f)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	seen := map[string]bool{}
	gets := func(what string, is func(whatsapptest.BaileysEvent) bool) whatsapptest.BaileysEvent {
		t.Helper()
		e, err := clara.Await(soon(t), func(e whatsapptest.BaileysEvent) bool { return e.Event == "message" && !seen[e.ID] && is(e) })
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
	if again := gets("the picture that was answered", image); again.Error != "" || again.Width != picture.Width || !h.wrote(again.SHA256) {
		t.Errorf("the answered picture came back as %+v", again)
	}
	gets("the kind word", thanks)
	sends(whatsapptest.BaileysFile{Kind: "reaction", About: own, Text: "👍"}) // starts nothing
	sends(whatsapptest.BaileysFile{Kind: "text", Text: "@Andy and this?", Quoted: back.ID})
	if again := gets("the document that was answered", document); again.SHA256 != back.SHA256 {
		t.Errorf("%+v came back, want %s", again, back.SHA256)
	}
	gets("the kind word", thanks)
	host.stop()
}

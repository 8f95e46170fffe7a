package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/outbox"
)

// TestMakeFixture makes the installations below LONGSHORE_FIXTURE. README.md
// says how to run it and what is in them.
func TestMakeFixture(t *testing.T) {
	out := os.Getenv("LONGSHORE_FIXTURE")
	if out == "" {
		t.Skip("makes a fixture where LONGSHORE_FIXTURE says")
	}
	t.Setenv("LONGSHORE_FIXTURE", "")
	makeReal(t, out)
	makeMarks(t, out)
}

// powerCut copies a whole installation at an instant in which nothing is written: what
// a power cut would leave.
func powerCut(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.Walk(from, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		target := filepath.Join(to, rel)
		switch {
		case info.IsDir():
			return os.MkdirAll(target, info.Mode().Perm())
		case !info.Mode().IsRegular() || strings.HasSuffix(path, "-shm"):
			return nil
		}
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(target, data, info.Mode().Perm())
		}
		return errors.Join(err, os.Chtimes(target, info.ModTime(), info.ModTime()))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// describe keeps what the commands of this release say of an installation.
func describe(t *testing.T, dir, to string) {
	t.Helper()
	copied := t.TempDir()
	powerCut(t, dir, copied)
	run := func(name string, args ...string) []byte {
		var out, bad bytes.Buffer
		e := &env{stdin: strings.NewReader(""), stdout: &out, stderr: &bad, getenv: os.Getenv}
		if code := e.run(t.Context(), append([]string{"-c", filepath.Join(copied, "longshore.yaml"), "--json"}, args...)); code != 0 {
			t.Fatalf("%v: %d, %s", args, code, bad.String())
		}
		put(t, filepath.Join(to, name+".json"), out.String())
		return out.Bytes()
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	var all, errs []operator.Item
	parse(t, run("queue", "queue", "list", "--all"), &all)
	parse(t, run("errors", "errors", "list"), &errs)
	var status struct {
		Groups, Failures []any
		Errors           int
	}
	parse(t, run("status", "status"), &status)
	b, _ := json.MarshalIndent(map[string]any{"groups": status.Groups, "failures": status.Failures, "errors": status.Errors}, "", "  ")
	put(t, filepath.Join(to, "status.json"), string(b)) // the rest is of the machine
	for i, item := range all {
		parse(t, run("one", "queue", "show", item.ID), &all[i])
	}
	os.Remove(filepath.Join(to, "one.json"))
	b, _ = json.MarshalIndent(all, "", "  ")
	put(t, filepath.Join(to, "shown.json"), string(b))
}

func parse(t *testing.T, b []byte, to any) {
	t.Helper()
	if err := json.Unmarshal(b, to); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// request writes a request as an assistant's tool would.
func request(t *testing.T, dir, folder, id, body string) {
	t.Helper()
	messages := filepath.Join(dir, "state/ipc", folder, "messages")
	put(t, filepath.Join(messages, "."+id), body)
	if err := os.Rename(filepath.Join(messages, "."+id), filepath.Join(messages, id+".json")); err != nil {
		t.Fatal(err)
	}
}

// files writes files into a workspace and returns a request for them.
func files(t *testing.T, dir, folder, caption string, names ...string) string {
	t.Helper()
	var list []string
	for _, name := range names {
		put(t, filepath.Join(dir, "state/groups", folder, name), strings.Repeat(name+" of "+folder+"\n", 40))
		list = append(list, fmt.Sprintf("%q", "/workspace/group/"+name))
	}
	return fmt.Sprintf(`{"type":"file","files":[%s],"caption":%q}`, strings.Join(list, ","), caption)
}

func text(words string) string { return fmt.Sprintf(`{"type":"message","text":%q}`, words) }

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// maker runs hosts of one installation, which stop where stops say.
type maker struct {
	t    *testing.T
	dir  string
	h    *host
	stop func()

	mu    sync.Mutex
	stops map[string]chan struct{} // "folder request step" or "folder step": closed when it was reached
	hold  chan struct{}            // closed at the end
}

func (m *maker) at(folder, request, step string) {
	m.mu.Lock()
	reached := m.stops[folder+" "+request+" "+step]
	if reached == nil {
		reached = m.stops[folder+" "+step]
	}
	m.mu.Unlock()
	if reached == nil {
		return
	}
	select {
	case <-reached:
	default:
		close(reached)
	}
	<-m.hold
}

// stopAt makes the host stop in a step, and returns a function that waits for it.
func (m *maker) stopAt(step string) func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	reached := make(chan struct{})
	m.stops[step] = reached
	return func() {
		m.t.Helper()
		select {
		case <-reached:
		case <-time.After(time.Minute):
			m.t.Fatalf("the host never came to %q", step)
		}
	}
}

func (m *maker) start(opts hostOptions) {
	m.t.Helper()
	cfg, err := groups.Load(filepath.Join(m.dir, "longshore.yaml"))
	if err != nil {
		m.t.Fatal(err)
	}
	m.stops, m.hold = map[string]chan struct{}{}, make(chan struct{})
	opts.log, opts.trace = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})), m.at
	if m.h, err = newHost(context.Background(), cfg, opts); err != nil {
		m.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.h.Run(ctx) }()
	m.stop = func() {
		cancel()
		close(m.hold)
		if err := errors.Join(<-ended, m.h.Close()); err != nil {
			m.t.Log(err)
		}
	}
}

// state waits until the delivery of a request is in one of the states.
func (m *maker) state(request string, states ...outbox.State) outbox.Delivery {
	m.t.Helper()
	var found outbox.Delivery
	until(m.t, fmt.Sprint(request, " in ", states), func() bool {
		d, err := m.h.outbox.Get(m.t.Context(), request)
		found = d
		for _, p := range d.Parts {
			ok := false
			for _, s := range states {
				ok = ok || p.State == s
			}
			if !ok {
				return false
			}
		}
		return err == nil
	})
	return found
}

const realConfig = `# An installation of the first release. The page and WhatsApp are real.
name: Andy
state: ./state
limits: {free_disk: 0, keep_errors: 0s, assistants: 2, rate: {per_minute: 6000, burst: 1000}}
channels:
  web: {listen: "127.0.0.1:0"}
  whatsapp: {rate: {per_minute: 6000, burst: 1000}, account: {per_minute: 6000, burst: 1000}}
assistants:
  echo: {agent: command, command: %s}
groups:
  - {name: Office, folder: office, chat: "web:office", main: true, assistant: echo}
  - {name: Family, folder: family, chat: "web:family", trigger: "@Andy", assistant: echo}
  - {name: Garden, folder: garden, chat: "web:garden", assistant: echo}
  - {name: Attic, folder: attic, chat: "web:attic", assistant: echo}
  - {name: Crew, folder: crew, chat: "120363000000000001@g.us", trigger: "@Andy", assistant: echo}
  - {name: Pier, folder: pier, chat: "120363000000000002@g.us", assistant: echo}
  - {name: Dock, folder: dock, chat: "120363000000000003@g.us"}
  - {name: Slip, folder: slip, chat: "120363000000000004@g.us", assistant: echo}
`

const (
	answering = "[cat]"
	hanging   = `[sh, -c, "cat > /dev/null; exec sleep 3600"]`
)

// page is a member at the chat page.
type page struct {
	t    *testing.T
	base string
}

func (p page) do(method, path string, body io.Reader, kind string) []byte {
	p.t.Helper()
	req, err := http.NewRequest(method, p.base+path, body)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		p.t.Fatalf("%s %s: %s, %s, %v", method, path, resp.Status, b, err)
	}
	return b
}

func (p page) say(chat, words string, names ...string) {
	p.t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	form.WriteField("from", "Ann")
	form.WriteField("text", words)
	for _, name := range names {
		w, _ := form.CreateFormFile("files", name)
		io.WriteString(w, strings.Repeat(name+" from Ann\n", 30))
	}
	form.Close()
	p.do("POST", "/api/chats/"+chat+"/messages", &b, form.FormDataContentType())
}

func (p page) messages(chat string) (all []map[string]any) {
	p.t.Helper()
	var got struct{ Messages []map[string]any }
	parse(p.t, p.do("GET", "/api/chats/"+chat+"/messages?limit=200", nil, ""), &got)
	return got.Messages
}

// makeReal makes the installation with the page and WhatsApp.
func makeReal(t *testing.T, out string) {
	trustOnce.Do(func() {
		if err := whatsapptest.TrustRoot(whatsapptest.Root()); err != nil {
			t.Fatal(err)
		}
	})
	dir, uploads := filepath.Join(t.TempDir(), "real"), filepath.Join(out, "uploads")
	if err := os.MkdirAll(uploads, 0o755); err != nil {
		t.Fatal(err)
	}
	srv := whatsapptest.New(whatsapptest.Options{FewKeys: true, Dir: uploads})
	defer srv.Close()
	phone := srv.AddPhone(ourNumber, "Harbour office")
	anna := srv.NewMember(t, annaNumber, "Anna")
	var chats []types.JID
	for _, name := range []string{"Crew", "Pier", "Dock", "Slip"} {
		chats = append(chats, srv.AddGroup(whatsapptest.Group{Subject: name, Members: []string{annaNumber, ourNumber}}))
	}
	crew, pier, dock, slip := chats[0], chats[1], chats[2], chats[3]
	put(t, filepath.Join(dir, "longshore.yaml"), fmt.Sprintf(realConfig, answering))
	link := &harbour{t: t, srv: srv, phone: phone, dir: dir}
	link.link()

	m := &maker{t: t, dir: dir}
	opts := hostOptions{whatsapp: whatsappNet{whatsapptest.ClientFor(srv.Addr()), whatsapptest.Lookup}}
	begin := func() page {
		m.start(opts)
		if err := srv.Await(soon(t), phone.Online); err != nil {
			t.Fatal(err)
		}
		var base string
		until(t, "the page", func() bool {
			for _, c := range m.h.channels {
				ok, detail := c.(channel.Status).Connected()
				if !ok {
					return false
				}
				if c.Name() == "web" {
					base = strings.TrimSuffix(strings.TrimPrefix(detail, "serving "), "/")
				}
			}
			return true
		})
		return page{t, base}
	}

	// What has ended: it is not to be sent again, and to be seen as it was.
	p := begin()
	p.say("office", "good morning", "photo.txt", "plan.txt")
	until(t, "an answer in the office", func() bool { return len(p.messages("office")) == 3 })
	request(t, dir, "office", "1-sent", text("Good morning to all."))
	m.state("1-sent", outbox.Sent, outbox.Delivered)
	request(t, dir, "office", "2-album", files(t, dir, "office", "two of them", "one.txt", "two.txt"))
	m.state("2-album", outbox.Sent, outbox.Delivered)
	var ids []string
	for _, msg := range p.messages("office") {
		ids = append(ids, fmt.Sprintf("%q", msg["id"]))
	}
	p.do("POST", "/api/chats/office/seen", strings.NewReader(`{"ids":[`+strings.Join(ids, ",")+`]}`), "application/json")
	m.state("1-sent", outbox.Read)
	m.state("2-album", outbox.Read)
	request(t, dir, "family", "1-sent-to-family", text("Good morning, family."))
	m.state("1-sent-to-family", outbox.Sent, outbox.Delivered)
	request(t, dir, "office", "3-broken", "{")
	request(t, dir, "family", "3-foreign", `{"type":"message","text":"to others","chatJid":"web:office"}`)
	request(t, dir, "crew", "1-text", text("The tide is at nine."))
	m.state("1-text", outbox.Delivered)
	seen, err := whatsapptest.Await(soon(t), anna, 0, func(e *events.Message) bool { return whatsapptest.Text(e.Message) != "" })
	if err != nil {
		t.Fatal(err)
	}
	if err := anna.MarkRead(soon(t), seen); err != nil {
		t.Fatal(err)
	}
	m.state("1-text", outbox.Read)
	request(t, dir, "crew", "2-file", files(t, dir, "crew", "the tides", "tides.txt"))
	m.state("2-file", outbox.Delivered)
	if _, err := anna.SendText(soon(t), crew, "@Andy hello"); err != nil {
		t.Fatal(err)
	}
	until(t, "an answer in the crew", func() bool { return len(srv.Relayed(crew)) == 4 })
	srv.RemoveMember(dock, ourNumber)
	request(t, dir, "dock", "1-failed", files(t, dir, "dock", "for the dock", "dock.txt"))
	m.state("1-failed", outbox.Failed)
	until(t, "two errors", func() bool {
		all, _ := m.h.desk(true).List(t.Context(), operator.Filter{Failed: true})
		return len(all) == 3
	})
	open, err := m.h.outbox.List(t.Context(), outbox.Filter{State: outbox.FilterOpen})
	if err != nil || len(open) > 0 {
		t.Fatalf("open: %+v, %v", open, err)
	}
	m.stop()

	// What is under way when the power goes.
	put(t, filepath.Join(dir, "longshore.yaml"), fmt.Sprintf(realConfig, hanging))
	p = begin()
	p.say("garden", "make the list")
	until(t, "a turn in the garden", func() bool { return exists(filepath.Join(dir, "state/inbound/garden/turn.json")) })
	p.say("garden", "and the other one")
	until(t, "a follow-up in the garden", func() bool {
		names, _ := filepath.Glob(filepath.Join(dir, "state/ipc/garden/input/*.json"))
		return len(names) == 1
	})
	p.say("attic", "look for the trunk")
	until(t, "a turn in the attic", func() bool { return exists(filepath.Join(dir, "state/inbound/attic/turn.json")) })
	time.Sleep(10 * time.Millisecond)
	request(t, dir, "attic", "1-found", files(t, dir, "attic", "found it", "trunk.txt"))
	m.state("1-found", outbox.Sent, outbox.Delivered)
	p.say("family", "nobody calls the assistant here", "list.txt")
	p.say("office", "is anybody there", "question.txt")

	slow := srv.Fail(whatsapptest.Fault{On: whatsapptest.OnDownload, Do: whatsapptest.Hold, Times: whatsapptest.Forever})
	knots := whatsapptest.File{Name: "knots.txt", MIME: "text/plain", Body: strings.NewReader(strings.Repeat("over and under\n", 30))}
	if _, err := anna.SendFile(soon(t), slip, knots); err != nil {
		t.Fatal(err)
	}
	<-slow.Hit()
	came := m.stopAt("pier  received")
	if _, err := anna.SendText(soon(t), pier, "what about the pier"); err != nil {
		t.Fatal(err)
	}
	came()
	anna.Disconnect()
	if err := srv.Await(soon(t), func() bool { return !anna.Phone.Online() }); err != nil {
		t.Fatal(err)
	}

	acked := m.stopAt("crew 3-acked acknowledged")
	request(t, dir, "crew", "3-acked", text("WhatsApp has this one."))
	acked()
	request(t, dir, "crew", "4-behind", files(t, dir, "crew", "behind it", "behind.txt"))
	m.state("4-behind", outbox.Queued)

	lost := srv.Fail(whatsapptest.Fault{On: whatsapptest.OnMessage, Do: whatsapptest.LoseAck, Phone: ourNumber, Chat: pier, Times: whatsapptest.Forever})
	request(t, dir, "pier", "1-unanswered", files(t, dir, "pier", "perhaps there", "pier.txt"))
	<-lost.Hit()

	sending := m.stopAt("office 4-first sending")
	request(t, dir, "office", "4-first", text("First of those that wait."))
	sending()
	request(t, dir, "office", "5-second", files(t, dir, "office", "then these", "three.txt", "four.txt"))
	m.state("5-second", outbox.Queued)
	request(t, dir, "office", "6-dropped", text("Never to be seen."))
	m.state("6-dropped", outbox.Queued)
	if err := m.h.outbox.Drop(t.Context(), "6-dropped"); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(t.TempDir(), "notice.txt")
	put(t, own, strings.Repeat("A notice of the operator.\n", 20))
	if _, err := m.h.offer(t.Context(), operator.Send{Group: "office", Path: own, Caption: "from the operator"}); err != nil {
		t.Fatal(err)
	}
	recorded := m.stopAt("family 2-recorded recorded")
	request(t, dir, "family", "2-recorded", text("Recorded, and still in the queue."))
	recorded()
	m.state("2-recorded", outbox.Sent, outbox.Delivered)
	until(t, "a second attempt", func() bool { return lost.Hits() == 2 })
	time.Sleep(2 * time.Second) // everything rests

	powerCut(t, dir, filepath.Join(out, "real"))
	history := map[string]any{}
	for _, chat := range []string{"office", "family", "garden", "attic"} {
		history[chat] = p.messages(chat)
	}
	made := time.Now()
	slow.Release()
	lost.Release()
	m.stop()

	put(t, filepath.Join(out, "real/longshore.yaml"), fmt.Sprintf(realConfig, answering))
	request(t, filepath.Join(out, "real"), "office", "7-waits", files(t, filepath.Join(out, "real"), "office", "nobody has seen this yet", "five.txt"))
	describe(t, filepath.Join(out, "real"), filepath.Join(out, "expected/real"))
	b, _ := json.MarshalIndent(history, "", "  ")
	put(t, filepath.Join(out, "expected/real/history.json"), string(b))
	var relayed []map[string]any
	for _, r := range srv.Relayed(types.EmptyJID) {
		relayed = append(relayed, map[string]any{"chat": r.Chat.String(), "id": r.ID, "type": r.Type, "ours": r.Sender.User == ourNumber})
	}
	b, _ = json.MarshalIndent(map[string]any{"relayed": relayed}, "", "  ")
	put(t, filepath.Join(out, "expected/real/whatsapp.json"), string(b))
	put(t, filepath.Join(out, "expected/made"), made.UTC().Format(time.RFC3339Nano)+"\n")
}

const marksConfig = `# An installation of the first release on channels that need marks: their
# platforms do not know an id for ever.
name: Andy
state: ./state
limits: {free_disk: 0, keep_errors: 0s}
groups:
  - {name: Asked there, folder: asked-there, chat: "mem:asks.there"}
  - {name: Asked missing, folder: asked-missing, chat: "mem:asks.missing"}
  - {name: Fresh, folder: fresh, chat: "mem:fresh.a"}
  - {name: Stale, folder: stale, chat: "mem:stale.a"}
  - {name: Blind, folder: blind, chat: "mem:blind.a"}
  - {name: Ended, folder: ended, chat: "mem:blind.b"}
  - {name: Ever, folder: ever, chat: "mem:ever.a"}
  - {name: Waits, folder: waits, chat: "mem:ever.b"}
`

// makeMarks makes the installation on channels of the tests. Each platform has a
// name and chats of its own.
func makeMarks(t *testing.T, out string) {
	dir := filepath.Join(t.TempDir(), "marks")
	put(t, filepath.Join(dir, "longshore.yaml"), marksConfig)
	script := func(m channel.Message, attempt int) channeltest.Fault {
		words, _, _ := strings.Cut(m.Text, ":")
		hang := channeltest.Hanging()
		switch words {
		case "hangs":
			return hang
		case "lost":
			return channeltest.AmbiguousAfter()
		case "refused":
			return channeltest.Permanent()
		case "later":
			return channeltest.RetryAfter(10 * time.Minute)
		}
		return channeltest.Fault{}
	}
	memory := func(name string, forgets bool) *channeltest.Memory {
		return channeltest.NewMemory(channeltest.Options{Name: name, Prefix: "mem:" + name + ".", Online: true, Forgets: forgets, Script: script})
	}
	all := []channel.Channel{
		channeltest.Asking{Memory: memory("asks", true)},
		channeltest.Blind{Memory: memory("fresh", false), Keyed: 24 * time.Hour},
		channeltest.Blind{Memory: memory("stale", true), Keyed: time.Minute},
		channeltest.Blind{Memory: memory("blind", true)},
		memory("ever", false),
	}
	m := &maker{t: t, dir: dir}
	m.start(hostOptions{channels: func(*groups.Config, *groups.Registry, hostOptions) ([]channel.Channel, error) { return all, nil }})
	sending := func(id string) {
		t.Helper()
		until(t, id+" under way", func() bool {
			d, err := m.h.outbox.Get(t.Context(), id)
			return err == nil && d.Parts[len(d.Parts)-1].State != outbox.Queued || err == nil && d.Parts[0].State == outbox.Sending
		})
	}
	for _, folder := range []string{"asked-there", "asked-missing", "fresh", "stale", "blind", "ever"} {
		request(t, dir, folder, "1-"+folder, files(t, dir, folder, "hangs: "+folder, folder+".txt"))
		sending("1-" + folder)
		request(t, dir, folder, "2-"+folder, text("behind: "+folder))
		m.state("2-"+folder, outbox.Queued)
	}
	request(t, dir, "ended", "1-uncertain", files(t, dir, "ended", "lost: uncertain", "uncertain.txt"))
	m.state("1-uncertain", outbox.Uncertain)
	request(t, dir, "ended", "2-failed", files(t, dir, "ended", "refused: failed", "failed.txt"))
	m.state("2-failed", outbox.Failed)
	request(t, dir, "ended", "3-sent", text("sent: and seen"))
	m.state("3-sent", outbox.Sent)
	// Of an album the first part is there and the second one waits.
	put(t, filepath.Join(dir, "state/groups/waits/a.txt"), strings.Repeat("a of waits\n", 40))
	put(t, filepath.Join(dir, "state/groups/waits/b.txt"), strings.Repeat("b of waits\n", 40))
	request(t, dir, "waits", "1-album", `{"type":"file","files":[{"filePath":"/workspace/group/a.txt","caption":"sent: a"},{"filePath":"/workspace/group/b.txt","caption":"later: b"}]}`)
	until(t, "an album that waits", func() bool {
		d, err := m.h.outbox.Get(t.Context(), "1-album")
		return err == nil && d.Parts[0].State == outbox.Sent && d.Parts[1].State == outbox.Queued && d.Parts[1].Code != ""
	})
	time.Sleep(2 * time.Second)
	powerCut(t, dir, filepath.Join(out, "marks"))
	m.stop()
	describe(t, filepath.Join(out, "marks"), filepath.Join(out, "expected/marks"))
}

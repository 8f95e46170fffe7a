// Package baileys is the other side of a chat as Baileys plays it, in a Node process of its own.
package baileys

import (
	"bufio"
	"context"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
	"github.com/longshore-bridge/longshore/internal/npmtest"
)

// The member program, and the exact versions of all that it is made of (30 MB).
//
//go:embed testdata/baileys
var files embed.FS

// Member is a member whose client is Baileys, in a Node process of its own. It
// shares no code with whatsmeow, so what it reads is written as WhatsApp's own
// clients read it, and not only as whatsmeow does.
type Member struct {
	Phone *whatsapptest.Phone // set once paired

	srv    *whatsapptest.Server
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	errors tail
	ended  chan struct{} // closed when the output ends

	mu      sync.Mutex
	events  []Event
	changed chan struct{}
	tags    int
}

// Event is what the member reports: its Event is qr, code, open, close,
// message, edited, deleted, reacted, sent, failed or forgot. testdata/baileys/member.mjs describes them.
type Event struct {
	Event, Code, Error, Tag string
	Status                  int

	ID, Chat, From         string
	Kind, Text, Name, MIME string // kind: conversation, extendedText, document, image, video, audio, sticker, pollCreation, album
	SHA256                 string // of the file, decrypted by Baileys, in hexadecimal
	Width, Height          int
	Seconds, Waveform      int // waveform: its bytes
	Voice, GIF, Thumbnail  bool
	Secret                 int      // bytes of the message's secret
	Choices                []string // of a poll, whose question is Text
	Selectable             int      // how many of the choices; 0: any number
	Pictures, Videos       int      // of an album: how many follow
	Album                  string   // the id of the album that a file belongs to
	Quoted, QuotedFrom     string   // what it answers
	QuotedSecret           int      // bytes of the secret inside the quote
}

// Message is what a member sends, or does.
type Message struct {
	Do      string   `json:"do"` // set by Send
	Tag     string   `json:"tag"`
	Chat    string   `json:"chat"`
	Kind    string   `json:"kind"` // a key of what send in testdata/baileys/member.mjs makes, live or vote
	Path    string   `json:"path,omitempty"`
	Name    string   `json:"name,omitempty"`
	MIME    string   `json:"mime,omitempty"`
	Text    string   `json:"text,omitempty"`
	Quoted  string   `json:"quoted,omitempty"`  // the id of a message that it has received
	About   string   `json:"about,omitempty"`   // the id of its own message that is edited, deleted, reacted to, pinned or forwarded, of a poll, or of an image's album
	Choices []string `json:"choices,omitempty"` // of a poll or a vote
}

// New starts a Baileys client that is not paired. Its process ends with
// the test.
func New(t testing.TB, s *whatsapptest.Server) *Member {
	t.Helper()
	modules := npmtest.Modules(t, files, "testdata/baileys")
	b := &Member{srv: s, ended: make(chan struct{}), changed: make(chan struct{})}
	stdout, err := b.start(filepath.Join(modules, "baileys"), t.TempDir())
	if err != nil {
		t.Fatalf("start the Baileys member: %v", err)
	}
	go b.read(stdout)
	t.Cleanup(func() { b.stop(t) })
	return b
}

// start runs the member program from dir, which is its temporary directory too.
func (b *Member) start(library, dir string) (stdout io.Reader, err error) {
	program, err := files.ReadFile("testdata/baileys/member.mjs")
	if err != nil {
		return nil, err
	}
	script := filepath.Join(dir, "member.mjs")
	if err := os.WriteFile(script, program, 0o600); err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(b.srv.Addr())
	if err != nil {
		return nil, err
	}
	b.cmd = exec.Command("node", script, library, port, hex.EncodeToString(whatsapptest.Root()))
	b.cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	b.cmd.Stderr = &b.errors
	if stdout, err = b.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if b.stdin, err = b.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return stdout, b.cmd.Start()
}

// stop lets the process end by itself, and kills it if it does not.
func (b *Member) stop(t testing.TB) {
	_ = b.stdin.Close()
	select {
	case <-b.ended:
	case <-time.After(10 * time.Second):
		t.Error("the Baileys member did not end")
		_ = b.cmd.Process.Kill()
		<-b.ended
	}
	_ = b.cmd.Wait()
	if t.Failed() {
		t.Logf("the Baileys member said:\n%s", b.errors.String())
	}
}

func (b *Member) read(stdout io.Reader) {
	defer close(b.ended)
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			e = Event{Event: "failed", Error: fmt.Sprintf("%v: %s", err, lines.Bytes())}
		}
		b.mu.Lock()
		b.events = append(b.events, e)
		close(b.changed)
		b.changed = make(chan struct{})
		b.mu.Unlock()
	}
}

// Await returns the first event, from the beginning, that matches.
func (b *Member) Await(ctx context.Context, match func(Event) bool) (Event, error) {
	for next := 0; ; {
		b.mu.Lock()
		fresh, changed := b.events[next:], b.changed
		next = len(b.events)
		b.mu.Unlock()
		for _, e := range fresh {
			if match(e) {
				return e, nil
			}
		}
		select {
		case <-changed:
		case <-b.ended:
			return Event{}, errors.New("the Baileys member has ended: " + b.errors.String())
		case <-ctx.Done():
			return Event{}, fmt.Errorf("wait for the Baileys member: %w", ctx.Err())
		}
	}
}

func (b *Member) await(ctx context.Context, event string) (Event, error) {
	return b.Await(ctx, func(e Event) bool { return e.Event == event })
}

// Message waits for the message of that id.
func (b *Member) Message(ctx context.Context, id string) (Event, error) {
	return b.Await(ctx, func(e Event) bool { return e.Event == "message" && e.ID == id })
}

// Texts are the texts of the messages that have come in, as an app shows them: those of one id are one
// message, in the place of the first. Again is how many more of a known id came.
func (b *Member) Texts() (all []string, again int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := map[string]bool{}
	for _, e := range b.events {
		switch {
		case e.Event != "message":
		case seen[e.ID]:
			again++
		default:
			seen[e.ID] = true
			all = append(all, e.Text)
		}
	}
	return all, again
}

func (b *Member) do(command any) error {
	line, err := json.Marshal(command)
	if err != nil {
		return err
	}
	_, err = b.stdin.Write(append(line, '\n'))
	return err
}

// PairQR pairs with the phone by the QR code that Baileys shows, and logs in.
func (b *Member) PairQR(ctx context.Context, p *whatsapptest.Phone) error {
	if err := b.do(map[string]string{"do": "connect"}); err != nil {
		return err
	}
	qr, err := b.await(ctx, "qr")
	if err != nil {
		return err
	}
	if _, err := p.Scan(ctx, qr.Code); err != nil {
		return err
	}
	return b.loggedIn(ctx, p)
}

// PairCode pairs with the phone by a code of eight characters, and logs in.
func (b *Member) PairCode(ctx context.Context, p *whatsapptest.Phone) error {
	if err := b.do(map[string]string{"do": "connect"}); err != nil {
		return err
	}
	if _, err := b.await(ctx, "qr"); err != nil { // it is connected
		return err
	}
	if err := b.do(map[string]string{"do": "code", "number": p.Number()}); err != nil {
		return err
	}
	code, err := b.await(ctx, "code")
	if err != nil {
		return err
	}
	if err := b.srv.Await(ctx, p.Asked); err != nil {
		return err
	}
	if _, err := p.EnterCode(ctx, code.Code); err != nil {
		return err
	}
	return b.loggedIn(ctx, p)
}

func (b *Member) loggedIn(ctx context.Context, p *whatsapptest.Phone) error {
	if _, err := b.await(ctx, "open"); err != nil {
		return err
	}
	b.Phone = p
	return nil
}

// Forget loses all Signal sessions and sender keys, as a device whose store was
// damaged. What arrives next does not decrypt, and Baileys asks for it again.
func (b *Member) Forget(ctx context.Context) error {
	if err := b.do(map[string]string{"do": "forget"}); err != nil {
		return err
	}
	_, err := b.await(ctx, "forgot")
	return err
}

// Send sends a text, a file or what else a member does, and returns its id.
func (b *Member) Send(ctx context.Context, f Message) (types.MessageID, error) {
	b.mu.Lock()
	b.tags++
	f.Do, f.Tag = "send", strconv.Itoa(b.tags)
	b.mu.Unlock()
	if err := b.do(f); err != nil {
		return "", err
	}
	e, err := b.Await(ctx, func(e Event) bool { return e.Tag == f.Tag })
	if err == nil && e.Event == "failed" {
		err = errors.New(e.Error)
	}
	return e.ID, err
}

// tail keeps the last of what a process writes to its standard error.
type tail struct {
	mu   sync.Mutex
	last []byte
}

func (l *tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = append(l.last, p...)
	l.last = l.last[max(0, len(l.last)-16<<10):]
	return len(p), nil
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.last)
}

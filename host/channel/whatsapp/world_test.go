package whatsapp_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/pace"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/internal/confine"
	"github.com/longshore-bridge/longshore/internal/fstest"
	"github.com/longshore-bridge/longshore/media"
)

func TestMain(m *testing.M) {
	confine.Child() // the tools of the machine run as a process of this binary
	if err := whatsapptest.TrustRoot(whatsapptest.Root()); err != nil {
		panic(err)
	}
	// The first channel takes libsignal's log: before any client runs.
	if _, err := whatsapp.New(whatsapp.Options{Dir: os.TempDir()}); err != nil {
		panic(err)
	}
	if run, ok := childPrograms[os.Getenv("WHATSAPP_TEST_CHILD")]; ok {
		os.Exit(run())
	}
	fstest.Memory()
	goleak.VerifyTestMain(m, libraryLeak)
}

// libraryLeak is a reader of whatsmeow's that waits for ever to pass on a last
// frame, when one comes in at the moment at which its socket is closed.
var libraryLeak = goleak.IgnoreAnyFunction("go.mau.fi/whatsmeow/socket.(*FrameSocket).readPump")

const (
	botNumber  = "4915550000000"
	annaNumber = "4915550000001"

	family = groups.JID("120363000000000001@g.us")
	work   = groups.JID("120363000000000002@g.us")

	byNumber = groups.JID("120363000000000003@g.us") // without Anna
	nobody   = groups.JID("120363000000000099@g.us")
)

// world is a WhatsApp with the channel's account, a member who reads, and two
// groups of the two.
type world struct {
	t     testing.TB
	srv   *whatsapptest.Server
	bot   *whatsapptest.Phone
	anna  *whatsapptest.Member
	net   *whatsapptest.Network
	opts  whatsapp.Options
	ch    *whatsapp.WhatsApp
	in    *inbox
	stop  func() // ends Run and checks how it ended
	log   safeBuffer
	old   map[string]bool // ids that Anna saw in another world; see again
	chats int
}

// newWorld pairs the channel but does not run it.
func newWorld(t testing.TB, change ...func(*whatsapp.Options)) *world {
	t.Helper()
	w := emptyWorld(t, change...)
	w.pair()
	return w
}

// emptyWorld has a channel that is not paired.
func emptyWorld(t testing.TB, change ...func(*whatsapp.Options)) *world {
	t.Helper()
	srv := whatsapptest.New(whatsapptest.Options{FewKeys: true})
	t.Cleanup(srv.Close)
	w := &world{t: t, srv: srv, bot: srv.AddPhone(botNumber, "Longshore"), net: whatsapptest.NewNetwork(srv.Addr())}
	w.anna = srv.NewMember(t, annaNumber, "Anna")
	for jid, subject := range map[groups.JID]string{family: "Family", work: "Work"} {
		srv.AddGroup(whatsapptest.Group{JID: waJID(jid), Subject: subject, Members: []string{botNumber, annaNumber}})
	}
	w.opts = whatsapp.Options{
		Dir: t.TempDir(), State: statetest.Open(t, t.TempDir()), Network: w.net,
		Rates: pace.Rates{Chat: pace.Rate{PerMinute: -1}},
	}
	w.opts.Log = slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, c := range change {
		c(&w.opts)
	}
	w.open()
	return w
}

// again is a world like new, with a channel that is paired and knows nothing:
// pairing takes most of a test's time, and Anna stays.
func (w *world) again(t testing.TB) {
	t.Helper()
	w.t, w.opts.Dir, w.opts.State = t, t.TempDir(), statetest.Open(t, t.TempDir())
	w.bot.Unlink()
	w.old = map[string]bool{}
	for _, e := range w.anna.Messages() {
		w.old[e.Info.ID] = true
	}
	w.open()
	w.pair()
}

func waJID(jid groups.JID) types.JID {
	j, err := types.ParseJID(string(jid))
	if err != nil {
		panic(err)
	}
	return j
}

// open makes a channel with the state of the last one.
func (w *world) open() *whatsapp.WhatsApp {
	w.t.Helper()
	ch, err := whatsapp.New(w.opts)
	if err != nil {
		w.t.Fatal(err)
	}
	w.ch = ch
	ch.Reconnect(20 * time.Millisecond)
	return ch
}

// onQR and onCode show codes to a function.
type (
	onQR   func(code string, valid time.Duration)
	onCode func(code string)
)

func (f onQR) ShowQR(code string, valid time.Duration) { f(code, valid) }
func (onQR) ShowCode(string)                           {}
func (onCode) ShowQR(string, time.Duration)            {}
func (f onCode) ShowCode(code string)                  { f(code) }

func noQR(string, time.Duration) {}

func (w *world) pair() {
	w.t.Helper()
	ctx := soon(w.t)
	err := w.ch.Pair(ctx, whatsapp.PairOptions{Show: onQR(func(code string, _ time.Duration) {
		go func() {
			if _, err := w.bot.Scan(ctx, code); err != nil {
				w.t.Errorf("scan: %v", err)
			}
		}()
	})})
	if err != nil {
		w.t.Fatal(err)
	}
}

// run runs the channel until stop, or the test's end.
func (w *world) run() *world {
	w.t.Helper()
	w.begin()
	w.connected()
	return w
}

// begin runs the channel without waiting for its connection.
func (w *world) begin() {
	w.in = &inbox{news: make(chan struct{}), fetch: w.ch.Fetch}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	ch, in := w.ch, w.in
	go func() { ended <- ch.Run(ctx, in) }()
	var once sync.Once
	w.stop = func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-ended:
				if err != nil {
					w.t.Errorf("Run: %v", err)
				}
			case <-time.After(30 * time.Second):
				w.t.Error("Run did not end")
			}
		})
	}
	w.t.Cleanup(w.stop)
}

func (w *world) connected() {
	w.t.Helper()
	w.until("the channel is connected", func() bool { ok, _ := w.ch.Connected(); return ok })
}

// restart ends Run and runs a new channel with the same state.
func (w *world) restart() {
	w.t.Helper()
	w.stop()
	w.open()
	w.run()
}

// until waits for a condition of the channel.
func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	ctx := soon(w.t)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			_, detail := w.ch.Connected()
			w.t.Fatalf("%s: not so after a long time; status: %s", what, detail)
		}
	}
}

func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// send sends what has to arrive.
func (w *world) send(m channel.Message) channel.Receipt {
	w.t.Helper()
	r, err := w.ch.Send(soon(w.t), m)
	if err != nil {
		w.t.Fatalf("Send: %v", err)
	}
	return r
}

// seen waits for the first n messages that Anna's app shows in a chat. Like
// the app's own store it knows a message by its id.
func (w *world) seen(chat groups.JID, n int) []*events.Message {
	w.t.Helper()
	ctx := soon(w.t)
	for {
		mark := w.anna.Mark()
		var list []*events.Message
		known := map[string]bool{}
		for _, e := range w.anna.Messages() {
			if e.Info.Chat == waJID(chat) && !known[e.Info.ID] && !w.old[e.Info.ID] && !e.Info.IsFromMe {
				known[e.Info.ID] = true
				list = append(list, e)
			}
		}
		if len(list) >= n {
			return list
		}
		if _, err := whatsapptest.Await[*events.Message](ctx, w.anna, mark, nil); err != nil {
			w.t.Fatalf("Anna sees %d messages in %s, want %d", len(list), chat, n)
		}
	}
}

// fetch downloads what Anna sees.
func (w *world) fetch(m *waE2E.Message) whatsapptest.Received {
	w.t.Helper()
	got, err := w.anna.Fetch(soon(w.t), m)
	if err != nil {
		w.t.Fatalf("download: %v", err)
	}
	return got
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func text(chat groups.JID, s string) channel.Message {
	return channel.Message{ID: newID(), Chat: chat, Text: s}
}

type readSeekCloser struct{ *bytes.Reader }

func (readSeekCloser) Close() error { return nil }

func file(chat groups.JID, info media.Info, data []byte) channel.Message {
	info.Size = int64(len(data))
	return channel.Message{ID: newID(), Chat: chat, Files: []channel.File{{
		Info: info, SHA256: sum(data),
		Content: channel.Bytes(data),
	}}}
}

func document(chat groups.JID, data []byte) channel.Message {
	return file(chat, media.Info{Name: "report.bin", Kind: media.Document, MIME: "application/octet-stream"}, data)
}

func openPath(path string) channeltest.Opens {
	return func() (io.ReadSeekCloser, error) { return os.Open(path) }
}

// safeBuffer is a log that several goroutines write.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

package outbox_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/media"
)

// fake is a channel whose Send is the test's.
type fake struct {
	name string
	send func(ctx context.Context, m channel.Message) (channel.Receipt, error)

	threads bool

	mu   sync.Mutex
	seen []seen
}

// seen is one call of Send.
type seen struct {
	at time.Time
	m  channel.Message
}

func (f *fake) Name() string              { return f.name }
func (f *fake) Owns(chat groups.JID) bool { return strings.HasPrefix(string(chat), f.name+":") }
func (f *fake) Limits() media.Limits {
	return media.Limits{Threads: f.threads, Kinds: media.DefaultLimits().Kinds}
}
func (f *fake) Repeat() channel.Repeat                         { return channel.Repeat{Keyed: channel.Forever} }
func (f *fake) Run(ctx context.Context, _ channel.Inbox) error { <-ctx.Done(); return nil }

func (f *fake) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	f.mu.Lock()
	f.seen = append(f.seen, seen{time.Now(), m})
	f.mu.Unlock()
	if f.send != nil {
		return f.send(ctx, m)
	}
	return channel.Receipt{ID: "r-" + m.ID}, nil
}

// texts are the texts that Send was called with, in order.
func (f *fake) texts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var ts []string
	for _, s := range f.seen {
		ts = append(ts, s.m.Text)
	}
	return ts
}

func (f *fake) calls() []seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]seen(nil), f.seen...)
}

// finding is a fake that can look up what it sent.
type finding struct {
	*fake
	sent func(m channel.Message) (*channel.Receipt, error)
}

func (a *finding) Repeat() channel.Repeat { return channel.Repeat{} }

func (a *finding) Find(_ context.Context, m channel.Message) (*channel.Receipt, error) {
	return a.sent(m)
}

// book reads what changed in an outbox, and keeps the newest of each delivery.
type book struct {
	o    *box
	last map[string]records.Delivery
	told []records.Delivery
}

func newBook() *book { return &book{last: map[string]records.Delivery{}} }

// open opens an outbox whose changes the book reads from now on.
func (b *book) open(t testing.TB, opts outbox.Options) *box {
	t.Helper()
	return b.openAt(t, t.TempDir(), opts)
}

// openAt is open with the directory of the state.
func (b *book) openAt(t testing.TB, dir string, opts outbox.Options) *box {
	t.Helper()
	b.o = openAt(t, dir, opts)
	return b.o
}

// of is how a delivery was handed out last.
func (b *book) of(d records.Delivery) records.Delivery {
	b.readAll()
	return b.last[d.Key]
}

// readAll reads what there is.
func (b *book) readAll() {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	for b.read(now) == nil {
	}
}

func (b *book) read(ctx context.Context) error {
	c, err := b.o.NextChanges(ctx)
	if err != nil {
		return err
	}
	defer c.Done()
	for _, d := range c.All {
		b.last[d.Key] = d.Delivery
		b.told = append(b.told, d.Delivery)
	}
	return nil
}

// settled waits until every delivery is settled.
func (b *book) settled(t testing.TB, ds ...records.Delivery) {
	t.Helper()
	b.until(t, "all settled", func() bool {
		for _, d := range ds {
			last, ok := b.last[d.Key]
			if !ok || last.Open() {
				return false
			}
		}
		return true
	})
}

// until reads until a condition on what was read holds.
func (b *book) until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	patience := 10 * time.Hour
	if time.Now().Year() > 2000 { // no bubble's time
		patience = time.Minute
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	b.readAll()
	for !ok() {
		if err := b.read(ctx); err != nil {
			t.Fatalf("waited in vain: %s: %v", what, err)
		}
	}
}

// box is an outbox and its state, which are closed together.
type box struct {
	*outbox.Outbox
	state *state.DB
	dir   string // of the state
}

// Close closes both, once.
func (b *box) Close() error {
	if b.state == nil {
		return nil
	}
	err := errors.Join(b.Outbox.Close(), b.state.Close())
	b.state = nil
	return err
}

// open opens an outbox that ends with the test.
func open(t testing.TB, opts outbox.Options) *box {
	t.Helper()
	return openAt(t, t.TempDir(), opts)
}

// openAt is open with the directory of the state.
func openAt(t testing.TB, dir string, opts outbox.Options) *box {
	t.Helper()
	b, err := newBox(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func newBox(dir string, opts outbox.Options) (_ *box, err error) {
	ctx := context.Background()
	if opts.State, err = state.Open(ctx, statetest.Spec(dir), slog.New(slog.DiscardHandler)); err != nil {
		return nil, err
	}
	o, err := outbox.Open(ctx, opts)
	if err != nil {
		return nil, errors.Join(err, opts.State.Close())
	}
	return &box{o, opts.State, dir}, nil
}

// restored marks what is in a state as a restored backup, and wants so many parts in doubt.
func restored(t testing.TB, dir string, want int64) {
	t.Helper()
	db, err := state.Open(t.Context(), statetest.Spec(dir), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	n, err := records.MarkRestored(t.Context(), db, time.Now())
	if err := errors.Join(err, db.Close()); err != nil || n != want {
		t.Errorf("%d parts are in doubt, %v", n, err)
	}
}

// run runs an outbox until the test ends, or until the returned function is called.
func run(t testing.TB, o *box) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		var ends sync.WaitGroup
		ends.Go(func() { o.endAsks(ctx, t) })
		err := o.Run(ctx)
		ends.Wait()
		done <- err
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// Decide answers the approval that a delivery waits for.
func (b *box) Decide(ctx context.Context, name string, yes bool, by string) error {
	a, err := b.Approval(ctx, name)
	if err != nil {
		return err
	}
	return b.Answer(ctx, a, map[bool]string{true: records.AnswerYes, false: records.AnswerNo}[yes], by)
}

// endAsks ends what nobody answers in time, as the bridge does.
func (b *box) endAsks(ctx context.Context, t testing.TB) {
	for ctx.Err() == nil {
		due, err := b.Reader().DueAsks(context.Background(), time.Now(), false)
		for i := range due {
			if due[i].Answer == "" {
				err = errors.Join(err, b.Answer(context.Background(), &due[i], records.AnswerNone, ""))
			}
		}
		if err != nil && !errors.Is(err, records.ErrDecided) {
			t.Errorf("end what nobody answers: %v", err)
		}
		next, err := b.Reader().NextExpiry(context.Background())
		if err != nil {
			t.Error(err)
		}
		var expires <-chan time.Time
		if !next.IsZero() {
			expires = time.After(max(time.Until(next), 0))
		}
		select {
		case <-ctx.Done():
		case <-b.Asking():
		case <-expires:
		}
	}
}

// key makes a delivery's key of any words.
func key(words ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprintln(words...)))
	return hex.EncodeToString(sum[:16])
}

// text is a delivery of texts.
func text(chat groups.JID, words ...string) records.Delivery {
	name, _, _ := strings.Cut(string(chat), ":")
	d := records.Delivery{Key: key(chat, words), Folder: "group-" + string(chat), Request: "q-" + strings.Join(words, "-"),
		Channel: name, Chat: chat}
	for _, w := range words {
		d.Parts = append(d.Parts, records.Part{Text: w})
	}
	return d
}

// file is a delivery of one file, whose bytes are already in the outbox.
func file(t testing.TB, o *box, chat groups.JID, name, content string) records.Delivery {
	t.Helper()
	b, err := o.Copy(context.Background(), strings.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	d := text(chat, name)
	d.Parts[0].Files = []records.File{{
		Info:   media.Info{Name: name, Kind: media.Document, MIME: "text/plain", Size: b.Size},
		SHA256: b.SHA256, Blob: b.Name, Bytes: b.Bytes,
	}}
	return d
}

func put(t testing.TB, o *box, ds ...records.Delivery) {
	t.Helper()
	if err := o.Put(context.Background(), ds); err != nil {
		t.Fatal(err)
	}
}

// read reads all that a channel was given of a file.
func read(f channel.File) (string, error) {
	r, err := f.Open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	return string(b), err
}

// limits are limits that nobody changes.
func limits(l outbox.Limits) outbox.Settings { return outbox.Fixed{Limits: l} }

package claudepush

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/agentrunner/remoteclient"
	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/ipc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// host is a host in memory. Its messages have ids that sort as they came.
type host struct {
	mu      sync.Mutex
	waiting []ipc.Message
	changed chan struct{}
	fails   error // of every call
	hasty   bool  // it does not wait
	calls   int   // of Inbox
	off     bool  // nothing may be pushed
	ended   []string
	unheard []string
	asked   []ipc.Permission
	answer  chan string // of a permission
}

func newHost() *host { return &host{changed: make(chan struct{}), answer: make(chan string, 1)} }

func (d *host) post(id, text string, calls bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = append(d.waiting, ipc.Message{ID: id, Kind: "message", Text: text, Calls: calls, From: "Ann"})
	close(d.changed)
	d.changed = make(chan struct{})
}

// stop drops all, as a member's /stop does.
func (d *host) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = nil
}

func (d *host) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fails = err
}

// turn lets messages be pushed, or not.
func (d *host) turn(off bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = off
}

func (d *host) Chat(context.Context) (x ipc.Context, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if x.Claude = "messages"; d.off {
		x.Claude = ""
	}
	return x, d.fails
}

func (d *host) Inbox(ctx context.Context, after string, wait time.Duration) (in ipc.Inbox, err error) {
	d.mu.Lock()
	d.calls++
	if d.hasty {
		wait = 0
	}
	d.mu.Unlock()
	over := time.After(wait)
	for {
		d.mu.Lock()
		in.Cursor, err = after, d.fails
		for _, m := range d.waiting {
			if m.ID > after && len(in.Messages) < 2 { // as the host's answers are bounded
				in.Messages, in.Cursor = append(in.Messages, m), m.ID
			}
		}
		changed := d.changed
		d.mu.Unlock()
		if err != nil || len(in.Messages) > 0 {
			return in, err
		}
		select {
		case <-changed:
		case <-over:
			return in, nil
		case <-ctx.Done():
			return in, ctx.Err()
		}
	}
}

func (d *host) Ack(_ context.Context, id, text string) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(d.waiting)
	d.waiting = slices.DeleteFunc(d.waiting, func(m ipc.Message) bool { return m.ID == id })
	if len(d.waiting) < n {
		d.ended = append(d.ended, strings.TrimRight(id+" "+text, " "))
	}
	return len(d.waiting) < n, d.fails
}

func (d *host) CopyFile(_ context.Context, w io.Writer, _ ipc.Message, f ipc.MessageFile) error {
	if f.Missing != "" {
		return remoteclient.ErrMissing
	}
	if _, err := io.WriteString(w, "bytes of "+f.Name); err != nil {
		return err
	}
	return d.fails
}

func (d *host) Unheard(_ context.Context, id string) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unheard = append(d.unheard, id)
	return true, d.fails
}

func (d *host) told() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.unheard)
}

func (d *host) AskPermission(_ context.Context, p ipc.Permission) (ipc.Permission, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, p)
	p.ID = fmt.Sprint("q", len(d.asked))
	return p, d.fails
}

func (d *host) Permission(ctx context.Context, id string, wait time.Duration) (p ipc.Permission, err error) {
	d.mu.Lock()
	err = d.fails
	d.mu.Unlock()
	p.ID = id
	if err != nil {
		return p, err
	}
	select {
	case p.Answer = <-d.answer:
	case <-time.After(wait):
	case <-ctx.Done():
		return p, ctx.Err()
	}
	return p, nil
}

// session is a pusher that runs, and what was pushed.
type session struct {
	*pusher
	host   *host
	mu     sync.Mutex
	pushed []string
	full   bool // the client reads nothing
}

func run(t *testing.T, d *host) *session {
	s := &session{pusher: newPusher(d, slog.New(slog.DiscardHandler)), host: d}
	s.notify = func(method string, params map[string]any) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if method != notifyMessage {
			t.Errorf("notified %s", method)
		}
		if s.full {
			return errors.New("the channel is full")
		}
		s.pushed = append(s.pushed, params["meta"].(map[string]string)["id"])
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.fetch(ctx) })
	running.Go(func() { s.run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return s
}

// takes returns the ids that were pushed since the last call.
func (s *session) takes() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.pushed = nil }()
	return strings.Join(s.pushed, " ")
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestAMessageIsPushedThreeTimesThenTheHostIsTold, and the host again every five minutes, as
// it may have been restarted. What calls nobody is pushed once.
func TestAMessageIsPushedThreeTimesThenTheHostIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newHost()
		s := run(t, d)
		d.post("1", "by the way", false)
		d.post("2", "hello?", true)
		d.post("3", "anybody?", true)
		equal(t, "at once", s.takes(), "1 2 3")
		for range 2 {
			time.Sleep(again - time.Second)
			equal(t, "before five minutes", s.takes(), "")
			time.Sleep(time.Second)
			equal(t, "after five minutes", s.takes(), "2 3")
		}
		equal(t, "told before", d.told(), []string(nil))
		time.Sleep(2 * again)
		equal(t, "pushed", s.takes(), "")
		equal(t, "told", d.told(), []string{"2", "3", "2", "3"})
		equal(t, "the next connection", run(t, d).takes(), "1 2 3")
	})
}

// TestAnAnsweredMessageIsNotPushedAgain, nor what was said before it to nobody.
func TestAnAnsweredMessageIsNotPushedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newHost()
		s := run(t, d)
		d.post("1", "by the way", false)
		d.post("2", "hello?", true)
		d.post("3", "by the way", false)
		s.takes()
		m := &messages{Options: Options{Host: d, Log: s.log}, pusher: s.pusher}
		for _, want := range []string{"on its way", "had ended before"} {
			r, err := m.End(t.Context(), "2", "Hi.")
			if err != nil || !strings.Contains(r.Summary, want) {
				t.Errorf("%+v, %v", r, err)
			}
		}
		equal(t, "ended", d.ended, []string{"2 Hi.", "1"})
		time.Sleep(time.Hour)
		equal(t, "pushed", s.takes(), "")
		equal(t, "told", d.told(), []string(nil))
	})
}

// TestWhatAMemberStoppedIsNotPushedAgain: the host knows first.
func TestWhatAMemberStoppedIsNotPushedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newHost()
		s := run(t, d)
		d.post("1", "hello?", true)
		s.takes()
		d.stop()
		time.Sleep(time.Hour)
		equal(t, "pushed", s.takes(), "")
		equal(t, "told", d.told(), []string(nil))
	})
}

// TestNothingIsPushedAfterTheOperatorsNo, neither what came before nor what comes, until the
// operator allows it again.
func TestNothingIsPushedAfterTheOperatorsNo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newHost()
		s := run(t, d)
		d.post("1", "hello?", true)
		equal(t, "before", s.takes(), "1")
		d.turn(true)
		d.post("2", "hello?", true)
		equal(t, "at once", s.takes(), "")
		d.post("3", "hello?", true)
		time.Sleep(time.Hour)
		equal(t, "after", s.takes(), "")
		equal(t, "told", d.told(), []string(nil))
		d.turn(false)
		time.Sleep(fetchLate)
		equal(t, "allowed again", s.takes(), "1 2 3")
	})
}

// TestAHostThatIsAwayLosesNothing: it is asked again, and what could not be looked up is not
// forgotten.
func TestAHostThatIsAwayLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newHost()
		s := run(t, d)
		d.post("1", "hello?", true)
		equal(t, "first", s.takes(), "1")
		d.fail(&remoteclient.Problem{Code: "unreachable", Message: "away"})
		d.post("2", "hello?", true)
		time.Sleep(time.Hour)
		equal(t, "while it is away", s.takes(), "")
		d.fail(nil)
		time.Sleep(fetchSoon)
		equal(t, "when it is back", s.takes(), "1 2")
		d.fail(&remoteclient.Problem{Code: ipc.CodeWrongValue, Message: "no cursor of mine"})
		time.Sleep(2 * fetchWait)
		d.fail(nil)
		d.post("3", "hello?", true)
		time.Sleep(2 * fetchLate)
		equal(t, "of another host's cursor", s.takes(), "3")
	})
}

// TestAClientThatReadsNothingIsTriedAgain, and that is no push.
func TestAClientThatReadsNothingIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newHost()
		s := run(t, d)
		s.mu.Lock()
		s.full = true
		s.mu.Unlock()
		d.post("1", "hello?", true)
		time.Sleep(time.Minute)
		s.mu.Lock()
		s.full = false
		s.mu.Unlock()
		time.Sleep(crowded)
		equal(t, "pushed", s.takes(), "1")
	})
}

// TestPendingMessagesAreBounded, and name what is left out.
func TestPendingMessagesAreBounded(t *testing.T) {
	d := newHost()
	m := &messages{Options: Options{Host: d, Log: slog.New(slog.DiscardHandler)}, pusher: newPusher(d, nil)}
	if r, err := m.Pending(t.Context()); err != nil || r.Summary != "No message waits." {
		t.Errorf("%+v, %v", r, err)
	}
	for i := range 9 {
		d.post(fmt.Sprint(i), fmt.Sprintf("<%d>%s", i, strings.Repeat("x", 10<<10)), true)
	}
	r, err := m.Pending(t.Context())
	if err != nil || len(r.Summary) > maxListed+1<<10 || !strings.Contains(r.Summary, "&lt;0&gt;") || !strings.Contains(r.Summary, "9 messages not ended") || !strings.Contains(r.Summary, "6 more messages") {
		t.Errorf("%d bytes, %.200s", len(r.Summary), r.Summary)
	}
	d.fail(&remoteclient.Problem{Code: "no_token", Message: "no token", Hint: "make one"})
	var p *sender.Problem
	if _, err := m.Pending(t.Context()); !errors.As(err, &p) || p.Hint != "make one" {
		t.Error(err)
	}
}

// TestAMembersFileFollowsNoLinkAndReplacesNothing.
func TestAMembersFileFollowsNoLinkAndReplacesNothing(t *testing.T) {
	d := newHost()
	dir, outside := t.TempDir(), t.TempDir()
	m := &messages{Options: Options{Host: d, Dir: dir, Log: slog.New(slog.DiscardHandler)}, pusher: newPusher(d, nil)}
	d.waiting = []ipc.Message{{ID: "1", Files: []ipc.MessageFile{
		{Number: 1, Name: "../../plan.pdf"}, {Number: 2, Name: "gone.pdf", Missing: "it is no longer kept"},
	}}}
	for range 2 {
		r, err := m.File(t.Context(), "1", 1)
		if err != nil {
			t.Fatal(err)
		}
		path := r.Data["path"].(string)
		if b, err := os.ReadFile(path); string(b) != "bytes of ../../plan.pdf" || err != nil || filepath.Dir(path) != filepath.Join(dir, filesDir) {
			t.Errorf("%s: %q, %v", path, b, err)
		}
	}
	for name, of := range map[string]struct {
		id     string
		number int
	}{"file_gone": {"1", 2}, "no_such_file": {"1", 3}, "unknown_message": {"2", 1}} {
		var p *sender.Problem
		if _, err := m.File(t.Context(), of.id, of.number); !errors.As(err, &p) || p.Code != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	d.fail(errors.New("the line broke"))
	_, err := m.save(t.Context(), d.waiting[0], ipc.MessageFile{Number: 1, Name: "cut.pdf"})
	if _, there := os.Lstat(filepath.Join(dir, filesDir, "cut.pdf")); err == nil || there == nil {
		t.Errorf("half a file is left: %v", err)
	}
	d.fail(nil)
	if err := cmp.Or(os.RemoveAll(filepath.Join(dir, filesDir)), os.Symlink(outside, filepath.Join(dir, filesDir))); err != nil {
		t.Fatal(err)
	}
	if _, err := m.File(t.Context(), "1", 1); err == nil {
		t.Error("it follows a link")
	}
	if all, _ := os.ReadDir(outside); len(all) > 0 {
		t.Error("a file lies outside")
	}
}

// TestAHostThatDoesNotWaitWasAskedWithoutAPause, as one with limits.wait: 0s.
func TestAHostThatDoesNotWaitWasAskedWithoutAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newHost()
		d.hasty = true
		s := run(t, d)
		time.Sleep(time.Minute)
		d.post("1", "hello?", true)
		time.Sleep(crowded)
		equal(t, "pushed", s.takes(), "1")
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.calls > 100 {
			t.Errorf("asked %d times in a minute", d.calls)
		}
	})
}

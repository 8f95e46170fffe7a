package turns_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/host/turns"
	"github.com/longshore-bridge/longshore/media"
)

// world is a host round one Manager: its disk, its chats and its runtime.
type world struct {
	t        *testing.T
	state    string
	groups   []groups.Group
	options  options
	registry atomic.Pointer[groups.Registry]
	runtime  *stage
	db       *state.DB
	close    func() // of db
	m        *turns.Manager

	mu     sync.Mutex
	said   []said
	keys   map[string]bool
	sent   []time.Time // by the assistants' tools
	typing []bool
	refuse int  // so many times Say fails
	outbox bool // what is said is in the state, too

	shelf map[string]string // files of members by their reference, for a channel that has them at once
}

type said struct {
	Folder, Thread, Text string
	at                   time.Time
	key                  string
}

func group(folder string) groups.Group {
	return groups.Group{Name: folder, Folder: folder, Chat: groups.JID("web:" + folder), Assistant: "sample"}
}

// newWorld prepares a state directory; change may set further options.
func newWorld(t *testing.T, change func(*options), gs ...groups.Group) *world {
	t.Helper()
	if len(gs) == 0 {
		gs = []groups.Group{group("family")}
	}
	w := &world{
		t: t, state: filepath.Join(t.TempDir(), "state"), groups: gs, keys: map[string]bool{}, shelf: map[string]string{},
		runtime: &stage{started: make(chan *actor, 100)},
	}
	check(t, w.layout().Prepare(gs))
	if change != nil {
		change(&w.options)
	}
	w.open()
	return w
}

func (w *world) layout() groups.Layout { return groups.Layout{State: w.state} }

// open makes a Manager on what is on disk, as a host that starts does.
func (w *world) open() {
	w.t.Helper()
	w.configure(w.groups...)
	if w.close != nil {
		w.close()
	}
	w.db, w.close = statetest.Start(w.t, w.state)
	o := w.options.Options
	o.State, o.Layout, o.Chat, o.Plans, o.Platforms = w.db, w.layout(), host{w}, host{w}, host{w}
	if o.Runtime == nil {
		o.Runtime = w.runtime
	}
	var err error
	w.m, err = turns.New(o)
	check(w.t, err)
}

// configure changes the groups that are configured.
func (w *world) configure(gs ...groups.Group) {
	w.t.Helper()
	registry, err := groups.NewRegistry(gs)
	check(w.t, err)
	w.registry.Store(registry)
}

// run runs the Manager until the test, or whoever calls the result, ends it.
func (w *world) run() (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	m := w.m
	go func() { done <- m.Run(ctx) }()
	end = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("run: %v", err)
		}
	})
	w.t.Cleanup(end)
	return end
}

// restart opens a Manager on a copy of the disk as it is at this moment: what
// a host finds that starts after another one was killed.
func (w *world) restart() *world {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	next := &world{
		t: w.t, state: filepath.Join(w.t.TempDir(), "state"), groups: w.groups, options: w.options,
		runtime: &stage{started: make(chan *actor, 100)},
		said:    slices.Clone(w.said), keys: w.keys, sent: slices.Clone(w.sent),
	}
	// While nobody commits, the database and its log are those of one moment.
	check(w.t, w.db.Do(context.Background(), func(*state.Tx) error { return os.CopyFS(next.state, os.DirFS(w.state)) }, nil))
	statetest.Copy(w.t, w.state, next.state)
	next.open()
	return next
}

func (w *world) say(folder, thread, text, key string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse > 0 {
		w.refuse--
		return errors.New("disk full")
	}
	if !w.keys[key] {
		one := said{folder, thread, text, time.Now(), key}
		if w.outbox {
			if err := w.putOut(one); err != nil {
				return err
			}
		}
		w.keys[key] = true
		w.said = append(w.said, one)
	}
	return nil
}

func (w *world) sentSince(thread string, since time.Time, but []string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.askedSinceLocked(since) ||
		slices.ContainsFunc(w.said, func(s said) bool { return s.Thread == thread && !s.at.Before(since) && !slices.Contains(but, s.key) })
}

func (w *world) askedSince(since time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.askedSinceLocked(since)
}

func (w *world) askedSinceLocked(since time.Time) bool {
	return slices.ContainsFunc(w.sent, func(t time.Time) bool { return !t.Before(since) })
}

// toolSends is an assistant's tool that sends something.
func (w *world) toolSends() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, time.Now())
}

// texts is what the chats have seen.
func (w *world) texts() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var texts []string
	for _, s := range w.said {
		texts = append(texts, s.Text)
	}
	return texts
}

// write is a member who writes to a group.
func (w *world) write(folder, id, text string) {
	w.t.Helper()
	w.writeIn(folder, "", id, text)
}

// writeIn is a member who writes in a thread.
func (w *world) writeIn(folder, thread, id, text string) {
	w.t.Helper()
	check(w.t, w.m.Receive(context.Background(), folder, channel.Inbound{
		ID: id, Chat: groups.JID("web:" + folder), Thread: thread, From: "Ann", Text: text, Time: time.Now(),
	}))
}

// fetch takes a member's file from the shelf.
func (w *world) fetch(f channel.FileRef) (io.ReadCloser, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return io.NopCloser(strings.NewReader(w.shelf[f.Ref])), nil
}

// lay puts a member's file on the shelf.
func (w *world) lay(name, body string) channel.Attachment {
	w.mu.Lock()
	defer w.mu.Unlock()
	ref := fmt.Sprint("file ", len(w.shelf))
	w.shelf[ref] = body
	return channel.Attachment{Info: media.Info{Name: name, Kind: media.Document, MIME: "text/plain", Size: int64(len(body))}, Ref: ref}
}

// kept counts the messages of a group that are not done.
func (w *world) kept(folder string) int {
	w.t.Helper()
	return w.count(`SELECT COUNT(*) FROM inbound_message WHERE done = 0 AND folder = ?`, folder)
}

// count reads a number from the state.
func (w *world) count(query string, args ...any) (n int) {
	w.t.Helper()
	check(w.t, w.db.QueryRow(query, args...).Scan(&n))
	return n
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// stage is a runtime whose assistants the test plays, in a bubble of
// testing/synctest.
type stage struct {
	started chan *actor
	before  func() // a start; may be nil
	mu      sync.Mutex
	refuse  error
}

// refuses has every further start fail with err, or succeed again.
func (s *stage) refuses(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = err
}

func (s *stage) Start(_ context.Context, spec runtime.Spec) (runtime.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		return nil, s.refuse
	}
	a := &actor{spec: spec, outputs: make(chan runtime.Output), done: make(chan struct{})}
	check := json.Unmarshal(spec.Input, &a.input)
	if check != nil {
		return nil, check
	}
	if s.before != nil {
		s.before()
	}
	s.started <- a
	return a, nil
}

// next is the assistant that was started last, or nil.
func (s *stage) next() *actor {
	synctest.Wait()
	select {
	case a := <-s.started:
		return a
	default:
		return nil
	}
}

// actor is one assistant that the test plays.
type actor struct {
	spec  runtime.Spec
	input struct {
		Prompt, SessionID, GroupFolder, ChatJid, AssistantName, Turn, Thread string
		IsMain                                                               bool
		Secrets                                                              map[string]string
	}
	outputs chan runtime.Output
	done    chan struct{}
	once    sync.Once
	err     error
	stopped atomic.Bool // by the host
	verdict error       // beside ErrStopped, when the host ends it
}

func (a *actor) Outputs() <-chan runtime.Output { return a.outputs }

func (a *actor) Wait() error {
	<-a.done
	return a.err
}

func (a *actor) Stop(context.Context) {
	if a.verdict != nil {
		a.end(fmt.Errorf("%w; %w", runtime.ErrStopped, a.verdict))
		return
	}
	a.end(runtime.ErrStopped)
}

func (a *actor) end(err error) {
	a.once.Do(func() {
		a.err = err
		a.stopped.Store(errors.Is(err, runtime.ErrStopped))
		close(a.done)
		close(a.outputs)
	})
}

// exit is the assistant's own end.
func (a *actor) exit(err error) {
	a.end(err)
	synctest.Wait()
}

func (a *actor) says(text string) { a.answers(text, nil) }

// answers says which follow-ups the text is an answer to.
func (a *actor) answers(text string, inputs []string) {
	a.outputs <- runtime.Output{Status: runtime.Success, Result: &text, NewSessionID: "session-1", Inputs: inputs}
	synctest.Wait()
}

// inputs is the input directory that it sees.
func (a *actor) inputs() string {
	for _, m := range a.spec.Mounts {
		if m.Container == "/workspace/ipc/input" {
			return m.Host
		}
	}
	panic("no input directory is mounted")
}

// lie names what lies in the input directory.
func (a *actor) lie() (names []string) {
	entries, err := os.ReadDir(a.inputs())
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// reads takes what lies in the input directory, as an assistant does.
func (a *actor) reads() (texts []string) {
	dir := a.inputs()
	entries, err := os.ReadDir(dir)
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			panic(err)
		}
		os.Remove(filepath.Join(dir, e.Name()))
		var message struct{ Type, Text string }
		if e.Name() == "_close" {
			message.Text = "_close"
		} else if err := json.Unmarshal(data, &message); err != nil || message.Type != "message" {
			panic(fmt.Sprintf("%s: %v", data, err))
		}
		texts = append(texts, message.Text)
	}
	return texts
}

// has fails the test unless the text holds each part once.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if n := strings.Count(text, part); n != 1 {
			t.Errorf("%q is %d times in %q", part, n, text)
		}
	}
}

package notify

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/internal/finding"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a host with faults, and targets that note what they are told.
type world struct {
	*testing.T
	db *state.DB

	mu      sync.Mutex
	now     []finding.Finding
	list    finding.List
	targets []string
	heard   []string            // "chat: fault of channel_down of channel mem"
	ids     map[string][]string // of the messages, by target
	deaf    map[string]error    // targets that take nothing
	tries   map[string]int
	hangs   map[string]bool
}

func newWorld(t *testing.T, targets ...string) *world {
	return &world{T: t, db: statetest.Open(t, t.TempDir()), targets: targets, ids: map[string][]string{}, deaf: map[string]error{}, tries: map[string]int{}, hangs: map[string]bool{}}
}

func (w *world) exec(query string) {
	w.Helper()
	if _, err := w.db.Exec(w.Context(), query); err != nil {
		w.Fatal(err)
	}
}

// start runs a Notifier until stop.
func (w *world) start() (stop func()) {
	n := New(Options{
		State: w.db, Host: "box", Log: slog.New(slog.DiscardHandler),
		Watched: w, Settings: w,
	})
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); n.Run(ctx) }()
	return func() { cancel(); <-ended }
}

func (w *world) After() time.Duration { return time.Minute }

func (w *world) Findings(context.Context, bool) ([]finding.Finding, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.list.Since(slices.Clone(w.now)), nil
}

// target is a target of the world.
type target struct {
	*world
	name string
}

func (t target) Name() string                              { return t.name }
func (t target) Tell(ctx context.Context, m Message) error { return t.take(ctx, t.name, m) }

func (w *world) Targets() (all []Target) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range w.targets {
		all = append(all, target{w, name})
	}
	return all
}

func (w *world) take(ctx context.Context, target string, m Message) error {
	w.mu.Lock()
	w.tries[target]++
	hangs, err := w.hangs[target], w.deaf[target]
	if !hangs && err == nil {
		w.heard = append(w.heard, target+": "+string(m.Kind)+" of "+m.Fault.ID())
		w.ids[target] = append(w.ids[target], m.ID)
	}
	w.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

func (w *world) fault(names ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = nil
	for _, name := range names {
		about, unknown := strings.CutPrefix(name, "unknown ")
		if unknown {
			w.now = append(w.now, finding.Finding{Part: about, Severity: finding.Unseen})
			continue
		}
		w.now = append(w.now, finding.Finding{Name: "broken", Part: name, Severity: finding.Warning, Cause: name + " is broken", Remedy: "mend it"})
	}
}

// and is what was told so far, and more.
func (w *world) and(more ...string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append(slices.Clone(w.heard), more...)
}

// answers has a target take messages, refuse them or hang.
func (w *world) answers(target string, err error, hangs bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deaf[target], w.hangs[target] = err, hangs
}

// told waits and compares all that was told.
func (w *world) told(after time.Duration, want ...string) {
	w.Helper()
	time.Sleep(after)
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if diff := cmp.Diff(byTarget(want), byTarget(w.heard)); diff != "" {
		w.Errorf("told (-want +got):\n%s", diff)
	}
}

// byTarget sorts by the target alone: two targets are told at the same time.
func byTarget(heard []string) []string {
	sorted := slices.Clone(heard)
	slices.SortStableFunc(sorted, func(a, b string) int {
		a, _, _ = strings.Cut(a, ":")
		b, _, _ = strings.Cut(b, ":")
		return strings.Compare(a, b)
	})
	return sorted
}

func TestALastingFaultIsToldOnceAndItsEndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "chat", "hook")
		defer w.start()()
		w.fault("disk")
		w.told(50 * time.Second)
		w.told(20*time.Second, "chat: fault of broken of disk", "hook: fault of broken of disk")
		w.told(24*time.Hour, w.and()...)
		w.fault()
		w.told(50*time.Second, w.and()...)
		w.told(20*time.Second, "chat: fault of broken of disk", "hook: fault of broken of disk", "chat: over of broken of disk", "hook: over of broken of disk")
		w.told(24*time.Hour, w.and()...)
		w.fault("disk")
		w.told(time.Hour, w.and("chat: fault of broken of disk", "hook: fault of broken of disk")...)
		if ids := w.ids["chat"]; ids[0] == ids[2] {
			t.Error("another fault has the id of the first: a receiver would drop it as a repeat")
		}
	})
}

func TestAFaultThatDoesNotLastIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "chat")
		defer w.start()()
		for range 100 {
			w.fault("channel")
			time.Sleep(45 * time.Second)
			w.fault()
			time.Sleep(15 * time.Second)
		}
		w.told(time.Hour)
	})
}

// A channel that comes and goes would fill the chat.
func TestAFaultThatComesAndGoesIsOneFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "chat")
		defer w.start()()
		w.fault("channel")
		w.told(2*time.Minute, "chat: fault of broken of channel")
		for range 100 {
			w.fault()
			time.Sleep(45 * time.Second)
			w.fault("channel")
			time.Sleep(15 * time.Second)
		}
		w.told(time.Minute, w.and()...)
		w.fault()
		w.told(2*time.Minute, "chat: fault of broken of channel", "chat: over of broken of channel")
	})
}

func TestARestartTellsNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "chat")
		stop := w.start()
		w.fault("key", "disk")
		w.told(2*time.Minute, "chat: fault of broken of disk", "chat: fault of broken of key")
		stop()
		w.fault("disk", "unknown key") // no turn has shown yet whether the key is accepted
		stop = w.start()
		w.told(time.Hour, w.and()...)
		stop()
		w.fault() // both are over while no host runs
		stop = w.start()
		w.told(2*time.Minute, w.and("chat: over of broken of disk", "chat: over of broken of key")...)
		stop()
		defer w.start()()
		w.told(time.Hour, w.and()...)
	})
}

// A host that dies between a message and its note on disk repeats the message: under
// the same id, by which a chat and a receiver know it.
func TestAMessageThatIsRepeatedAfterARestartHasItsID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "chat")
		w.fault("disk")
		w.answers("chat", nil, true)
		stop := w.start()
		w.told(70 * time.Second) // the first attempt is under way
		w.answers("chat", nil, false)
		w.told(time.Minute, "chat: fault of broken of disk")
		stop()
		w.exec("UPDATE notified SET sent = 0")
		defer w.start()()
		w.told(time.Minute, "chat: fault of broken of disk", "chat: fault of broken of disk")
		if ids := w.ids["chat"]; ids[0] != ids[1] {
			t.Errorf("ids %q", w.ids)
		}
	})
}

func TestATargetThatFailsIsTriedSeldomAndKeepsNothingUp(t *testing.T) {
	for name, how := range map[string]func(*world){
		"it refuses": func(w *world) { w.answers("hook", errors.New("status 500"), false) },
		"it hangs":   func(w *world) { w.answers("hook", nil, true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "hook", "chat")
				defer w.start()()
				how(w)
				w.fault("disk", "channel")
				w.told(80*time.Second, "chat: fault of broken of channel", "chat: fault of broken of disk")
				time.Sleep(24 * time.Hour)
				synctest.Wait()
				w.mu.Lock()
				if n := w.tries["hook"]; n < 100 || n > 160 {
					t.Errorf("%d attempts in a day", n)
				}
				w.mu.Unlock()
				w.answers("hook", nil, false)
				w.told(11*time.Minute, w.and("hook: fault of broken of channel", "hook: fault of broken of disk")...)
			})
		})
	}
}

func TestWhatWasOverBeforeATargetTookItIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "hook")
		defer w.start()()
		w.answers("hook", errors.New("down"), false)
		w.fault("disk")
		w.told(time.Hour)
		w.fault()
		w.told(2 * time.Minute)
		w.answers("hook", nil, false)
		w.told(24 * time.Hour)
	})
}

func TestAnEndThatCannotBeToldForADayIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "hook")
		defer w.start()()
		w.fault("disk")
		w.told(time.Hour, "hook: fault of broken of disk")
		w.answers("hook", errors.New("down"), false)
		w.fault()
		w.told(25*time.Hour, w.and()...)
		w.answers("hook", nil, false)
		w.told(time.Hour, w.and()...)
		var left int
		if err := w.db.QueryRow("SELECT count(*) FROM notified").Scan(&left); err != nil || left > 0 {
			t.Errorf("%d are kept, %v", left, err)
		}
	})
}

// A reload names another target: it is told what is wrong now, and the one that is
// gone is forgotten.
func TestATargetThatIsNewIsToldWhatLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "chat")
		defer w.start()()
		w.fault("disk")
		w.told(time.Hour, "chat: fault of broken of disk")
		w.mu.Lock()
		w.targets = []string{"hook"}
		w.mu.Unlock()
		w.told(time.Minute, w.and("hook: fault of broken of disk")...)
		w.fault()
		w.told(time.Hour, w.and("hook: over of broken of disk")...)
	})
}

func TestAStateThatCannotBeReadOrWrittenStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "chat")
		w.exec("INSERT INTO notified (target, fault, about, since, sent) VALUES ('chat', 'x', '{', 1, 0)")
		stop := w.start()
		w.fault("disk")
		w.told(2*time.Minute, "chat: fault of broken of disk")
		stop()
		w.exec("DROP TABLE notified")
		defer w.start()()
		w.told(time.Hour, "chat: fault of broken of disk", "chat: fault of broken of disk")
	})
}

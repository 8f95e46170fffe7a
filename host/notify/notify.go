// Package notify tells an operator of the host's lasting faults, in a chat, by a
// webhook or by ntfy: once when a fault has lasted for a while, and once when it is over.
//
// The state has what each target was told, so that a restart tells nothing twice. What is wrong, operator.Local says; this package only decides what is news for a target.
// A message has an id that stays the same in every attempt, also after a restart. A
// target that fails is tried again, ever more seldom, and holds up nothing else.
package notify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// Options are what a Notifier works with.
type Options struct {
	State    *state.DB // has what was told
	Host     string    // the machine's name, in every message
	Watched  Watched
	Settings Settings // asked at each look
	Log      *slog.Logger
}

// Watched is what has findings: operator.Local.
type Watched interface {
	Findings(ctx context.Context, deep bool) ([]finding.Finding, error)
}

// Settings are those that an operator may change while the host runs.
type Settings interface {
	// After is how long a fault lasts before it is told, and how long it is gone before
	// that is told.
	After() time.Duration
	Targets() []Target
}

// The bounds of a Notifier.
const (
	longestLook = 10 * time.Second // between two looks
	tellTime    = 20 * time.Second // for one attempt
	firstPause  = 10 * time.Second // after the first attempt that failed; it doubles
	longestWait = 10 * time.Minute // between two attempts
	lateEnd     = 24 * time.Hour   // an end of which a target cannot be told for so long is not told
)

// Notifier watches the findings. Its methods may be called concurrently.
type Notifier struct {
	o Options

	mu    sync.Mutex
	now   []finding.Finding // those that last, the oldest first
	told  []told            // in the order of the attempts
	lines map[string]*line  // by the target's name
	work  sync.WaitGroup    // attempts
}

// told is a finding of which a target was told, or is being told. All but gone is durable.
type told struct {
	Target string
	Fault  finding.Finding
	Since  time.Time
	Sent   bool // the target has taken it

	gone time.Time // since when it is no longer there; zero: it is, or nobody knows
}

// line is the way to one target. At most one attempt is under way on it.
type line struct {
	busy     bool
	failures int
	next     time.Time // not before
}

// New reads what was told.
func New(o Options) *Notifier {
	n := &Notifier{o: o, lines: map[string]*line{}}
	n.told = n.read()
	return n
}

// Run looks for findings until ctx is done. When it returns, no attempt is under way.
func (n *Notifier) Run(ctx context.Context) {
	defer n.work.Wait()
	for {
		n.look(ctx)
		if !wake.Sleep(ctx, min(max(n.o.Settings.After()/4, 100*time.Millisecond), longestLook)) {
			return
		}
	}
}

// look takes note of the present findings and starts the attempts that are due.
func (n *Notifier) look(ctx context.Context) {
	targets := n.o.Settings.Targets()
	if len(targets) == 0 && n.idle() {
		return
	}
	all, err := n.o.Watched.Findings(ctx, false)
	if err != nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sight(all, time.Now())
	n.forget(targets)
	for _, t := range targets {
		l := n.lines[t.Name()]
		if l == nil {
			l = new(line)
			n.lines[t.Name()] = l
		}
		if l.busy || time.Now().Before(l.next) || ctx.Err() != nil {
			continue
		}
		if m, ok := n.due(t.Name(), time.Now()); ok {
			l.busy = true
			n.work.Go(func() { n.tell(ctx, t, l, m) })
		}
	}
}

func (n *Notifier) idle() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.told) == 0
}

// sight compares what was told with the present findings. The caller holds mu.
func (n *Notifier) sight(all []finding.Finding, now time.Time) {
	unseen := map[string]bool{}
	for _, f := range all {
		unseen[f.Part] = unseen[f.Part] || f.Severity == finding.Unseen
	}
	n.now = finding.Wrong(all)
	slices.SortFunc(n.now, func(a, b finding.Finding) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID(), b.ID())) })
	for i := range n.told {
		t := &n.told[i]
		at := slices.IndexFunc(n.now, func(f finding.Finding) bool { return f.ID() == t.Fault.ID() })
		switch {
		case at >= 0 && t.Sent:
			t.gone = time.Time{}
		case at >= 0:
			t.gone, t.Fault = time.Time{}, n.now[at]
		case t.gone.IsZero() && !unseen[t.Fault.Part]:
			t.gone = now
		}
	}
}

// forget drops what no target waits for: of targets that are gone, findings that ended
// before they were told, and ends that could not be told. The caller holds mu.
func (n *Notifier) forget(targets []Target) {
	var gone []told
	n.told = slices.DeleteFunc(n.told, func(t told) bool {
		wanted := slices.ContainsFunc(targets, func(one Target) bool { return one.Name() == t.Target })
		late := n.over(t, time.Now()) && (time.Since(t.gone) > lateEnd || !t.Sent && (n.lines[t.Target] == nil || !n.lines[t.Target].busy))
		if wanted && !late {
			return false
		}
		gone = append(gone, t)
		return true
	})
	if len(gone) > 0 {
		n.forgotten(gone...)
	}
}

func (n *Notifier) over(t told, now time.Time) bool {
	return !t.gone.IsZero() && now.Sub(t.gone) >= n.o.Settings.After()
}

// due returns the oldest thing that is news for a target, and notes on disk that it is
// being told of a finding. The caller holds mu.
func (n *Notifier) due(target string, now time.Time) (m Message, ok bool) {
	knows := map[string]bool{}
	for _, t := range n.told {
		switch {
		case t.Target != target:
		case t.Sent && n.over(t, now):
			return n.message(Over, t, t.gone), true
		case !t.Sent && t.gone.IsZero():
			return n.message(Began, t, time.Time{}), true
		}
		knows[t.Fault.ID()] = knows[t.Fault.ID()] || t.Target == target
	}
	for _, f := range n.now {
		if !knows[f.ID()] && now.Sub(f.Since) >= n.o.Settings.After() {
			t := told{Target: target, Fault: f, Since: f.Since}
			n.told = append(n.told, t)
			n.keep(t)
			return n.message(Began, t, time.Time{}), true
		}
	}
	return Message{}, false
}

// message makes a message. Its id depends on nothing that differs between attempts.
func (n *Notifier) message(kind Kind, t told, until time.Time) Message {
	sum := sha256.Sum256([]byte(string(kind) + "\x00" + t.Target + "\x00" + t.Fault.ID() + "\x00" + t.Since.UTC().Format(time.RFC3339Nano)))
	return Message{ID: hex.EncodeToString(sum[:16]), Kind: kind, Host: n.o.Host, Fault: t.Fault, Since: t.Since, Until: until}
}

// tell makes one attempt, and then those for what else is news for the target.
func (n *Notifier) tell(ctx context.Context, t Target, l *line, m Message) {
	for {
		err := n.attempt(ctx, t, m)
		n.mu.Lock()
		if err != nil {
			l.failures++
			pause := min(firstPause<<min(l.failures-1, 10), longestWait)
			l.busy, l.next = false, time.Now().Add(pause)
			n.mu.Unlock()
			if ctx.Err() == nil {
				n.o.Log.Warn("operator not told of a fault", "target", t.Name(), "fault", m.Fault.ID(), "error", err, "again_in", pause.String())
			}
			return
		}
		l.failures, l.next = 0, time.Time{}
		n.taken(t.Name(), m)
		var more bool
		if m, more = n.due(t.Name(), time.Now()); !more || ctx.Err() != nil {
			l.busy = false
			n.mu.Unlock()
			return
		}
		n.mu.Unlock()
	}
}

func (n *Notifier) attempt(ctx context.Context, t Target, m Message) error {
	ctx, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	return t.Tell(ctx, m)
}

// taken records that a target has taken a message. The caller holds mu.
func (n *Notifier) taken(target string, m Message) {
	is := func(t told) bool { return t.Target == target && t.Fault.ID() == m.Fault.ID() }
	if m.Kind == Over {
		n.told = slices.DeleteFunc(n.told, is)
		n.forgotten(told{Target: target, Fault: m.Fault})
	} else if at := slices.IndexFunc(n.told, is); at >= 0 {
		n.told[at].Sent = true
		n.keep(n.told[at])
	}
}

// Test tells all targets at once that this is a test, and waits for them, for at most 20
// seconds.
func (n *Notifier) Test(ctx context.Context) []operator.Notified {
	targets := n.o.Settings.Targets()
	all := make([]operator.Notified, len(targets))
	var work sync.WaitGroup
	for i, t := range targets {
		all[i].Target = t.Name()
		work.Go(func() {
			if err := n.attempt(ctx, t, n.message(Test, told{Target: t.Name(), Since: time.Now()}, time.Time{})); err != nil {
				all[i].Error = err.Error()
			}
		})
	}
	work.Wait()
	return all
}

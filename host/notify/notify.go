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
	"maps"
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

// Notifier watches the faults. Its methods may be called concurrently.
type Notifier struct {
	o Options

	mu    sync.Mutex
	seen  map[string]*sighting // by the fault's id
	told  []told               // in the order of the attempts
	lines map[string]*line     // by the target's name
	work  sync.WaitGroup       // attempts
}

// sighting is a fault that is there, or that is told and not over yet.
type sighting struct {
	fault finding.Finding
	since time.Time
	gone  time.Time // zero: it is there
}

// told is a fault of which a target was told, or is being told. It is durable.
type told struct {
	Target string
	Fault  finding.Finding
	Since  time.Time
	Sent   bool // the target has taken it
}

// line is the way to one target. At most one attempt is under way on it.
type line struct {
	busy     bool
	failures int
	next     time.Time // not before
}

// New reads what was told.
func New(o Options) *Notifier {
	n := &Notifier{o: o, seen: map[string]*sighting{}, lines: map[string]*line{}}
	n.told = n.read()
	for _, t := range n.told {
		if s := n.seen[t.Fault.ID()]; s == nil || t.Since.Before(s.since) {
			n.seen[t.Fault.ID()] = &sighting{fault: t.Fault, since: t.Since}
		}
	}
	return n
}

// Run looks for faults until ctx is done. When it returns, no attempt is under way.
func (n *Notifier) Run(ctx context.Context) {
	defer n.work.Wait()
	for {
		n.look(ctx)
		if !wake.Sleep(ctx, min(max(n.o.Settings.After()/4, 100*time.Millisecond), longestLook)) {
			return
		}
	}
}

// look takes note of the present faults and starts the attempts that are due.
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

// sight compares the findings with those of the look before. The caller holds mu.
func (n *Notifier) sight(all []finding.Finding, now time.Time) {
	there, unseen := map[string]bool{}, map[string]bool{}
	for _, f := range all {
		if !f.Wrong() {
			unseen[f.Part] = unseen[f.Part] || f.Severity == finding.Unseen
			continue
		}
		there[f.ID()] = true
		if s := n.seen[f.ID()]; s != nil {
			if n.over(s, now) {
				s.since = now // another one
			}
			s.fault, s.gone = f, time.Time{}
			continue
		}
		n.seen[f.ID()] = &sighting{fault: f, since: now}
	}
	for id, s := range n.seen {
		switch {
		case there[id] || !s.gone.IsZero() || unseen[s.fault.Part]:
		case n.has(id):
			s.gone = now
		default:
			delete(n.seen, id)
		}
	}
}

// has says whether any target was told of a fault. The caller holds mu.
func (n *Notifier) has(id string) bool {
	return slices.ContainsFunc(n.told, func(t told) bool { return t.Fault.ID() == id })
}

// forget drops what no target waits for: of targets that are gone, faults that ended
// before they were told, and ends that could not be told. The caller holds mu.
func (n *Notifier) forget(targets []Target) {
	var gone []told
	over := func(t told) bool {
		s := n.seen[t.Fault.ID()]
		over := s != nil && n.over(s, time.Now())
		switch {
		case !slices.ContainsFunc(targets, func(one Target) bool { return one.Name() == t.Target }):
			return true
		case over && !t.Sent:
			return n.lines[t.Target] == nil || !n.lines[t.Target].busy
		}
		return over && time.Since(s.gone) > lateEnd
	}
	n.told = slices.DeleteFunc(n.told, func(t told) bool {
		ends := over(t)
		if ends {
			gone = append(gone, t)
		}
		return ends
	})
	if len(gone) == 0 {
		return
	}
	n.forgotten(gone...)
	for id, s := range n.seen {
		if !s.gone.IsZero() && !n.has(id) {
			delete(n.seen, id)
		}
	}
}

func (n *Notifier) over(s *sighting, now time.Time) bool {
	return !s.gone.IsZero() && now.Sub(s.gone) >= n.o.Settings.After()
}

// due returns the oldest thing that is news for a target, and notes on disk that it is
// being told of a fault. The caller holds mu.
func (n *Notifier) due(target string, now time.Time) (m Message, ok bool) {
	for _, s := range n.inOrder() {
		at := slices.IndexFunc(n.told, func(t told) bool { return t.Target == target && t.Fault.ID() == s.fault.ID() })
		switch {
		case at >= 0 && n.told[at].Sent && n.over(s, now):
			return n.message(Over, n.told[at].Fault, n.told[at].Since, s.gone, target), true
		case at >= 0 && !n.told[at].Sent && s.gone.IsZero():
			return n.message(Began, s.fault, n.told[at].Since, time.Time{}, target), true
		case at < 0 && s.gone.IsZero() && now.Sub(s.since) >= n.o.Settings.After():
			n.told = append(n.told, told{Target: target, Fault: s.fault, Since: s.since})
			n.keep(n.told[len(n.told)-1])
			return n.message(Began, s.fault, s.since, time.Time{}, target), true
		}
	}
	return Message{}, false
}

func (n *Notifier) inOrder() []*sighting {
	return slices.SortedFunc(maps.Values(n.seen), func(a, b *sighting) int {
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.fault.ID(), b.fault.ID()))
	})
}

// message makes a message. Its id depends on nothing that differs between attempts.
func (n *Notifier) message(kind Kind, f finding.Finding, since, until time.Time, target string) Message {
	sum := sha256.Sum256([]byte(string(kind) + "\x00" + target + "\x00" + f.ID() + "\x00" + since.UTC().Format(time.RFC3339Nano)))
	return Message{ID: hex.EncodeToString(sum[:16]), Kind: kind, Host: n.o.Host, Fault: f, Since: since, Until: until}
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
		if s := n.seen[m.Fault.ID()]; s != nil && !s.gone.IsZero() && !n.has(m.Fault.ID()) {
			delete(n.seen, m.Fault.ID())
		}
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
			if err := n.attempt(ctx, t, n.message(Test, finding.Finding{}, time.Now(), time.Time{}, t.Name())); err != nil {
				all[i].Error = err.Error()
			}
		})
	}
	work.Wait()
	return all
}

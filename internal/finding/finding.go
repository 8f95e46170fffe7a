// Package finding is the one form in which a part of the host says what is wrong with it, or
// that nothing is. The running host collects the findings of its parts in one list. All that an
// operator sees of it (doctor, why, status, /healthz, /readyz, page, notices, metrics) is a view
// of that list.
package finding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Severity is how much a finding matters.
type Severity string

// The severities.
const (
	Unseen  Severity = "unseen" // the part has shown nothing since the host's start: an earlier finding may last
	Fine    Severity = "ok"
	Note    Severity = "note"    // worth knowing; nothing has to be done
	Warning Severity = "warning" // works, and may not for long or not for all
	Fault   Severity = "fault"   // does not work, or is not safe
)

// order is that of the severities, from least to most.
func (s Severity) order() int {
	return slices.Index([]Severity{Unseen, Fine, Note, Warning, Fault}, s)
}

// Finding is one thing that a part of the host knows of itself. Its texts may contain foreign
// words, such as those of a platform.
type Finding struct {
	Name     string    `json:"name"` // one of the names of this package, or of package cause; stable, for programs
	Part     string    `json:"part"` // of the host: "channel slack", "assistant helper", "group family", "state"
	Severity Severity  `json:"severity"`
	Since    time.Time `json:"since,omitzero"` // zero: the list keeps when it first had the finding
	Cause    string    `json:"cause"`          // what is wrong, and why, as far as the part knows
	Remedy   string    `json:"remedy,omitempty"`
	// Operation is the operation of the control protocol that does what Remedy says, such as
	// "reload"; the operator's page shows a button for it. Empty: there is none.
	Operation string `json:"operation,omitempty"`
}

// Well is a finding of a part of which nothing is wrong.
func Well(part, words string) Finding {
	return Finding{Name: OK, Part: part, Severity: Fine, Cause: words}
}

// ID stays the same while the finding lasts, even if its texts change.
func (f Finding) ID() string { return f.Name + " of " + f.Part }

// The control socket: the part that listens there, and its place in the state.
const (
	ControlSocket = "control socket"
	SocketPart    = "state, longshore.sock"
)

// LimitsPart is the part of what the system allows the host's process.
const LimitsPart = "limits"

// MakeRoom is the remedy for a full disk.
const MakeRoom = "make room on the file system of the state directory, or lower limits.free_disk"

// Occupied is the remedy for a part of longshore.yaml whose address another program has.
func Occupied(key, then string) string {
	return "end the program that has the address, or name another one in " + key + ".listen and " + then
}

// Wrong reports whether an operator has to do something.
func (f Finding) Wrong() bool { return f.Severity == Warning || f.Severity == Fault }

// Wrong returns the findings for which an operator has to do something.
func Wrong(all []Finding) []Finding {
	wrong := []Finding{}
	for _, f := range all {
		if f.Wrong() {
			wrong = append(wrong, f)
		}
	}
	return wrong
}

// Source is a part of the host that makes findings.
type Source interface {
	// Findings returns what is wrong with the part now, in any order. It may be called
	// concurrently, returns within seconds, and writes nothing but a probe of the disk.
	Findings(ctx context.Context) []Finding
}

// Func is a Source of one function.
type Func func(ctx context.Context) []Finding

// Findings implements Source.
func (f Func) Findings(ctx context.Context) []Finding { return f(ctx) }

// AtOnce asks sources at the same time, and returns the list of each.
func AtOnce(ctx context.Context, sources ...Source) [][]Finding {
	lists := make([][]Finding, len(sources))
	var asked sync.WaitGroup
	for i, s := range sources {
		asked.Go(func() { lists[i] = s.Findings(ctx) })
	}
	asked.Wait()
	return lists
}

// Bounded is a Source whose answer is waited for until a second after the context's end. Then its finding is that
// Part did not answer.
type Bounded struct {
	Source Source
	Part   string
}

// Findings implements Source.
func (b Bounded) Findings(ctx context.Context) (found []Finding) {
	answer := make(chan []Finding, 1)
	go func() { answer <- b.Source.Findings(ctx) }()
	select {
	case found = <-answer:
	case <-ctx.Done():
		select {
		case found = <-answer:
		case <-time.After(time.Second):
		}
	}
	if len(found) == 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		found = []Finding{{Name: Unasked, Part: b.Part, Severity: Warning, Cause: b.Part + ": no answer in the time that an examination may take", Remedy: "run longshore doctor again; if it lasts, look at what the part waits for, such as the network or a disk"}}
	}
	return found
}

// List keeps since when each finding lasts. The zero List is empty.
type List struct {
	mu    sync.Mutex
	since map[string]time.Time // by the finding's ID
}

// Since adds to each finding since when it lasts.
func (l *List) Since(all []Finding) []Finding {
	l.mu.Lock()
	defer l.mu.Unlock()
	since := make(map[string]time.Time, len(all))
	for i, f := range all {
		if f.Since.IsZero() {
			all[i].Since = cmp.Or(l.since[f.ID()], time.Now())
		}
		since[f.ID()] = all[i].Since
	}
	l.since = since
	return all
}

// Merge joins lists and sorts them by part and name, the worst first. What two lists have by one
// ID is that of the first: several parts may notice one thing, and the one that knows most comes
// first. What only follows from another finding is left out.
func Merge(lists ...[]Finding) (all []Finding) {
	first, same := map[string]int{}, map[Finding]bool{} // the number of the first list with an ID
	for i, list := range lists {
		for _, f := range list {
			at, known := first[f.ID()]
			if same[f] || known && at < i && f.Name != OK {
				continue
			}
			if same[f] = true; !known {
				first[f.ID()] = i
			}
			all = append(all, f)
		}
	}
	known, details := Wrong(all), map[string][]string{} // by group: the mounts of which something is wrong
	for _, k := range known {
		if whole, detail, ok := strings.Cut(k.Part, ", "); ok && strings.HasPrefix(whole, "group ") {
			details[whole] = append(details[whole], detail)
		}
	}
	told := map[string]string{} // words of a cause, and the name of the finding that tells it
	for _, k := range known {
		switch k.ID() {
		case Damaged + " of state":
			told["the database is damaged"] = Damaged
		case FilesFew + " of " + LimitsPart:
			told["too many open files"], told["unable to open database file"] = FilesFew, FilesFew
		}
	}
	all = slices.DeleteFunc(all, func(f Finding) bool {
		for words, name := range told {
			if f.Name != name && strings.Contains(f.Cause, words) {
				return true
			}
		}
		return slices.Contains([]string{Advice, Invalid, Listener, Channel, Disk, Accepting}, f.Name) && slices.ContainsFunc(known, f.follows) ||
			slices.ContainsFunc(details[f.Part], func(detail string) bool { return strings.Contains(f.Cause, detail) })
	})
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Part, b.Part), cmp.Compare(b.Severity.order(), a.Severity.order()), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// follows reports whether f says no more than what follows from k, or says the same in other words.
func (f Finding) follows(k Finding) bool {
	switch f.Name {
	case Advice: // about a line of longshore.yaml
		return k.Part != f.Part && strings.Contains(f.Cause, k.Cause)
	case Invalid: // the last reload was refused for it
		return k.Name == Config && strings.Contains(k.Cause, f.Cause)
	case Listener: // its place in the state cannot be used
		return f.Part == ControlSocket && (k.Name == StateGone || k.Name == State && (k.Part == "state" || k.Part == SocketPart))
	case Channel, Disk:
		return k.Name == Accepting && k.Remedy == f.Remedy
	case Accepting:
		return slices.Contains([]string{State, FileSize}, k.Name) && k.Remedy == f.Remedy
	}
	return false
}

// Background is a Source that asks another one in a goroutine of its own, one at a time and not
// more often than Every. While that one hangs, such as on a network file system, its last answer
// counts.
type Background struct {
	Source Source
	Every  time.Duration
	First  bool // the first answer is waited for: its search has a bound

	mu   sync.Mutex
	busy chan struct{} // closed when the search under way has ended; nil: there is none
	at   time.Time     // when the last one ended
	last []Finding
}

// patience is how long Findings waits for a search under way. A load balancer waits for a second.
const patience = 800 * time.Millisecond

// anew is the key of a context's value by which each Background searches anew.
type anew struct{}

// Anew returns a context for who has just mended something: it makes each Background search again, and wait until ctx ends.
func Anew(ctx context.Context) context.Context { return context.WithValue(ctx, anew{}, true) }

// Findings implements Source.
func (b *Background) Findings(ctx context.Context) []Finding {
	fresh := ctx.Value(anew{}) != nil
	b.mu.Lock()
	busy, limit := b.busy, time.After(patience)
	if fresh || b.First && b.at.IsZero() {
		limit = nil
	}
	if began := busy; fresh && began != nil { // before that was mended
		b.mu.Unlock()
		select {
		case <-began:
		case <-ctx.Done():
		}
		b.mu.Lock()
		busy = b.busy
	}
	if busy == nil && (fresh || b.at.IsZero() || time.Since(b.at) >= b.Every) {
		busy = make(chan struct{})
		b.busy = busy
		go b.search(context.WithoutCancel(ctx), busy)
	}
	b.mu.Unlock()
	if busy != nil {
		select {
		case <-busy:
		case <-limit:
		case <-ctx.Done():
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.last)
}

func (b *Background) search(ctx context.Context, done chan struct{}) {
	found := b.Source.Findings(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last, b.at, b.busy = found, time.Now(), nil
	close(done)
}

// Gone is the finding that a running host's state directory was moved or deleted. pid is the
// host's process.
func Gone(state string, pid int) Finding {
	return Finding{
		Name: StateGone, Part: "state", Severity: Fault,
		Cause:  fmt.Sprintf("the host runs as process %d, and its state directory %s is gone: it was moved or deleted", pid, state),
		Remedy: fmt.Sprintf("move it back to %s; if that is not possible, stop the host (kill %d), restore a backup with longshore restore, and start the host", state, pid),
	}
}

// plainWord needs no quotes in a shell.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// ShellWord quotes a text as one word of a POSIX shell, if it needs quotes: a Remedy may hold a command.
func ShellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

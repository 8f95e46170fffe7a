// Package finding is the one form in which a part of the host says what is wrong with it, or
// that nothing is. The running host collects the findings of its parts in one list. All that an
// operator sees of it (doctor, why, status, /healthz, /readyz, page, notices, metrics) is a view
// of that list.
package finding

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Severity is how much a finding matters.
type Severity string

// The severities, from least to most.
const (
	Unknown Severity = "unknown" // the part has shown nothing since the host's start: an earlier finding may last
	Fine    Severity = "ok"
	Note    Severity = "note"    // worth knowing; nothing has to be done
	Warning Severity = "warning" // works, and may not for long or not for all
	Fault   Severity = "fault"   // does not work, or is not safe
)

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

// Source is a part of the host that makes findings.
type Source interface {
	// Findings returns what is wrong with the part now, in any order. It may be called
	// concurrently, returns within seconds, and writes nothing but a probe of the disk.
	Findings(ctx context.Context) []Finding
}

// ID stays the same while the finding lasts, even if its texts change.
func (f Finding) ID() string { return f.Name + " of " + f.Part }

// Wrong reports whether an operator has to know.
func (f Finding) Wrong() bool { return f.Severity == Warning || f.Severity == Fault }

// List keeps since when each finding lasts. The zero List is empty.
type List struct {
	mu    sync.Mutex
	since map[string]time.Time // by the finding's ID
}

// Collect returns the findings of the sources, sorted by part and name, each with its Since.
func (l *List) Collect(ctx context.Context, sources ...Source) []Finding {
	var all []Finding
	for _, s := range sources {
		all = append(all, s.Findings(ctx)...)
	}
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
	slices.SortStableFunc(all, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.Part, b.Part), cmp.Compare(a.Name, b.Name)) })
	return all
}

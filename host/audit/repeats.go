package audit

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

const (
	// refusedMost is how many refusals of a group's requests with one code get a line of their
	// own in a minute. An assistant can be refused thousands of times a second. Each code has its
	// share, so refusals of one kind hide none of another.
	refusedMost  = 20
	refusedEvery = time.Minute
)

// refusals counts the refused requests in a minute.
type refusals struct {
	begun time.Time
	seen  map[refusedAs]int
}

// refusedAs is what refusals have in common. The codes are the host's own, so they are few.
type refusedAs struct{ group, code string }

// takes reports whether a refusal gets a line of its own, and counts it.
func (r *refusals) takes(e *Entry) bool {
	if e.Event != "refused" || e.Delivery != "" {
		return true
	}
	if r.seen == nil {
		r.begun, r.seen = time.Now(), map[refusedAs]int{}
	}
	as := refusedAs{e.Group, e.Code}
	r.seen[as]++
	return r.seen[as] <= refusedMost
}

// counting reports whether there are refusals without a line.
func (r *refusals) counting() bool {
	for _, n := range r.seen {
		if n > refusedMost {
			return true
		}
	}
	return false
}

// end begins a new minute and returns a line for each group and code that had more
// refusals. The order is always the same.
func (r *refusals) end(now time.Time) (all []Entry) {
	for as, n := range r.seen {
		if more := n - refusedMost; more > 0 {
			all = append(all, Entry{
				Event: "refused", Time: now.UTC().Truncate(time.Millisecond), Group: as.group, Code: as.code, Count: more,
				Message: fmt.Sprintf("%d further requests were refused within a minute; they have no lines of their own", more),
			})
		}
	}
	slices.SortFunc(all, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Code, b.Code))
	})
	*r = refusals{}
	return all
}

// countRefusals ends the minute of the refusals if it is over, or in any case. The caller
// holds mu.
func (l *Log) countRefusals(now time.Time, anyway bool) {
	if since := now.Sub(l.refused.begun); anyway || since >= refusedEvery || since < 0 { // the clock may have been set back
		l.pending = append(l.pending, l.refused.end(now)...)
	}
}

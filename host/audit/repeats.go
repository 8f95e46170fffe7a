package audit

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	// refusedMost is how many refusals of a group's requests get a line of their own in a
	// minute. An assistant can be refused thousands of times a second.
	refusedMost  = 60
	refusedEvery = time.Minute
)

// refusals counts the refused requests of each group in a minute.
type refusals struct {
	begun time.Time
	group map[string]*groupRefusals
}

type groupRefusals struct {
	lines int
	more  map[string]int // by code: those without a line of their own
}

// takes reports whether a refusal gets a line of its own, and counts it.
func (r *refusals) takes(e *Entry) bool {
	if e.Event != "refused" || e.Delivery != "" {
		return true
	}
	if r.group == nil {
		r.begun, r.group = time.Now(), map[string]*groupRefusals{}
	}
	g := r.group[e.Group]
	if g == nil {
		g = &groupRefusals{more: map[string]int{}}
		r.group[e.Group] = g
	}
	if g.lines < refusedMost {
		g.lines++
		return true
	}
	g.more[e.Code]++
	return false
}

// counting reports whether there are refusals without a line.
func (r *refusals) counting() bool {
	for _, g := range r.group {
		if len(g.more) > 0 {
			return true
		}
	}
	return false
}

// end begins a new minute and returns a line for each group and code that had more
// refusals. The order is always the same.
func (r *refusals) end(now time.Time) (all []Entry) {
	for _, folder := range slices.Sorted(maps.Keys(r.group)) {
		more := r.group[folder].more
		for _, code := range slices.Sorted(maps.Keys(more)) {
			all = append(all, Entry{
				Event: "refused", Time: now.UTC().Truncate(time.Millisecond), Group: folder, Code: code, Count: more[code],
				Message: fmt.Sprintf("%d further requests were refused within a minute; they have no lines of their own", more[code]),
			})
		}
	}
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

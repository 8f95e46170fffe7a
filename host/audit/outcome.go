package audit

import (
	"crypto/sha256"
	"hash/crc32"
	"time"
)

// answer says whether the entry is a person's answer. It has the time of the answer, which may be
// repeated later; other entries have the time at which they were written.
func (e *Entry) answer() bool { return e.Event == Approved || e.Event == NotApproved }

// outcome is a delivery, or the answer to its approval: a hash of its name. event is a hash
// of the word for what came of it. They are small, for so many are remembered.
type (
	outcome [16]byte
	event   uint32
)

// Since is the time from which on entries must be repeated: about the time of the newest line that
// was more than a day old at Open, as a crash may have come after it. Newer lines do not count, as
// an earlier host may have crashed while it repeated entries. Without such a line, Since is a day
// before Open. It goes beyond a day only as far back as Add recognises outcomes.
func (l *Log) Since() time.Time { return l.since }

// reachBack moves since back to the last line before it.
func (l *Log) reachBack() {
	from, recognised := l.last.Add(-lateBy), l.exFrom
	if l.ex == nil {
		recognised = l.seenFrom
	}
	if from.Before(recognised) {
		from = recognised
	}
	if !l.last.IsZero() && from.Before(l.since) {
		l.since = from
	}
}

// known says whether the trail has the outcome lately, and remembers it.
func (l *Log) known(e Entry) bool {
	if e.Delivery == "" {
		return false
	}
	name := e.Delivery
	if e.answer() { // which is not the outcome
		name += " answer"
	}
	sum := sha256.Sum256([]byte(name))
	of, now := outcome(sum[:16]), event(crc32.ChecksumIEEE([]byte(e.Event)))
	was, ok := l.seen[of]
	if !ok {
		was, ok = l.ex[of]
	}
	if ok && was == now { // without a place in seen: what is repeated drives out nothing
		return true
	}
	if len(l.seen) >= remembered {
		l.ex, l.seen = l.seen, map[outcome]event{}
	}
	if len(l.seen) == 0 {
		l.seenFrom, l.exFrom = e.Time, l.seenFrom
	}
	l.seen[of] = now
	return false
}

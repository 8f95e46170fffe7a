// Package audit keeps the trail of what left the host and of what was refused: one line
// of JSON for each outcome, chained by hash, that are only appended to: in files, or as
// rows of a state that several hosts share. The lines are the same in both forms.
//
// A line's last member is the SHA-256 of all that stands before it in the line, and the
// line holds the hash of the line before it. So a line that is changed, removed, inserted
// or moved breaks the chain, also over the ends of files. Who can write the files can
// make a whole new chain, though: an operator who wants to notice that keeps a hash of
// the chain elsewhere, and [Verify] says whether it is still in it.
//
// A line is on the disk within a second. After a crash, the writer of the entries repeats those
// that may be missing, see [Log.Since]. [Log.Add] leaves out what the trail has.
package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// Entry is one line. What foreigners wrote in it, such as the names of files, is quoted
// as JSON does it, and no more.
type Entry struct {
	Number   int64     `json:"n"` // from 1, over all files
	Time     time.Time `json:"time"`
	Event    string    `json:"event"` // sent, failed, uncertain or refused; approved or not_approved; repaired or gap, of the trail itself
	Group    string    `json:"group,omitempty"`
	Request  string    `json:"request,omitempty"`  // empty: the host's own words, or an operator's
	Delivery string    `json:"delivery,omitempty"` // the outbox's key
	Asked    time.Time `json:"asked,omitzero"`     // when the request was written
	Channel  string    `json:"channel,omitempty"`
	Chat     string    `json:"chat,omitempty"` // with a keyed hash in place of a member's number: see Mask
	Thread   string    `json:"thread,omitempty"`
	Code     string    `json:"code,omitempty"`    // of a refusal or a failure
	Message  string    `json:"message,omitempty"` // which names the rule
	Count    int       `json:"count,omitempty"`   // of refusals that have no lines of their own; 0: the line is of one
	Parts    []Part    `json:"parts,omitempty"`
	Previous string    `json:"previous"` // hash of the line before; empty in the first
	Hash     string    `json:"-"`        // of this line
}

// The events that say what a person has answered to an approval.
const (
	Approved    = "approved"
	NotApproved = "not_approved"
)

// Part is one message of a delivery, or one file of a message.
type Part struct {
	Kind      string `json:"kind"` // text, poll, edit and so on, or the file's kind
	Name      string `json:"name,omitempty"`
	Bytes     int64  `json:"bytes"`            // of the file, or of the text
	SHA256    string `json:"sha256,omitempty"` // of the file
	Status    string `json:"status"`
	Code      string `json:"code,omitempty"`
	MessageID string `json:"message_id,omitempty"` // the platform's
	Link      bool   `json:"link,omitempty"`       // the file went as a link
	Text      string `json:"text,omitempty"`       // the text or caption, cut; empty if Captions are left out
}

// Options is what a Log works with.
type Options struct {
	Dir      string    // of the files, for the Log alone; created if it is missing
	Mark     string    // a file elsewhere, by which the next Open knows if those are gone; empty: none
	State    *state.DB // gets the trail as rows; nil: the trail is files
	Settings Settings  // nil: files stay for ever, and entries do without Captions and Numbers
	Log      *slog.Logger

	most int64 // bytes of a file, for tests; 0: 16 MiB
}

// Settings are those that an operator may change while the host runs.
type Settings interface {
	AuditKeeps() time.Duration // age at which a file is deleted; asked once an hour; 0: never
	AuditLeavesOut() []string  // some of Captions, Numbers and Names; asked for each entry
}

const (
	maxFile    = 16 << 20
	maxLine    = 1 << 20 // bytes; a delivery has at most some hundred parts
	maxPending = 10_000  // entries in memory while the disk takes none
	maxMessage = 500     // bytes of a refusal's message
	remembered = 20_000  // outcomes, twice: so many are recognised if they come again
	syncEvery  = time.Second
	keepEvery  = time.Hour
	mostRows   = 500 // entries that wait for Run to write them as rows; with more, Add writes them

	repeat = 24 * time.Hour // how far back entries are repeated at least
	lateBy = time.Hour      // a line is written at most so long after its outcome was recorded
)

// keeper keeps the lines of the trail that a Log writes.
type keeper interface {
	// key reads the key of Mask, or makes one.
	key() ([]byte, error)

	// end calls see with time, event and delivery of each of the newest entries, the oldest first. It
	// returns the number and the hash of the last line, and how many bytes of a line that a crash
	// cut off it has removed.
	end(see func(Entry)) (number int64, hash string, cut int64, err error)

	// put appends entries behind the line of that number and hash, and returns those of the last line.
	// After an error, some may be there: the same entries are put again, with others behind them.
	put(number int64, hash string, all []Entry) (int64, string, error)

	// sync makes durable what was put. It may be called while another goroutine puts.
	sync() error

	// expire removes lines that are older than that, but never the newest.
	expire(keep time.Duration) error

	Close() error
}

// Log is the end of the trail. Its methods may be called from several goroutines.
type Log struct {
	o    Options
	kept keeper
	key  []byte // of Mask

	mu       sync.Mutex
	number   int64 // of the last line
	hash     string
	pending  []Entry       // not written yet: the disk took none, or they become rows
	lost     int           // of those, what was too much
	dirty    bool          // written and not synced
	failing  error         // why the last write failed; nil: it did not
	broken   *Broken       // see Broken
	before   int64         // the entries before broken
	written  chan struct{} // Run has something to do
	seen, ex map[outcome]event
	refused  refusals

	seenFrom, exFrom time.Time // of the first line in each
	since            time.Time // see Since
	last             time.Time // of the newest line that is older than repeat
}

// Open opens the trail, and removes a line that a crash cut off. Nobody else has it open: the
// state is locked. The caller calls Run, and Close when Run has returned, and closes o.State after that.
func Open(o Options) (_ *Log, err error) {
	l := &Log{o: o, kept: &rowKeeper{db: o.State, log: o.Log}, seen: map[outcome]event{}, written: make(chan struct{}, 1)}
	if o.State == nil {
		l.kept = &fileKeeper{dir: o.Dir, mark: o.Mark, most: cmp.Or(o.most, maxFile), log: o.Log}
	}
	if l.key, err = l.kept.key(); err != nil {
		return nil, fmt.Errorf("open audit trail: %w", err)
	}
	l.since = time.Now().Add(-repeat)
	var cut int64
	if l.number, l.hash, cut, err = l.kept.end(l.resume); err != nil {
		return nil, fmt.Errorf("open audit trail: %w", err)
	}
	l.reachBack()
	if k, ok := l.kept.(*fileKeeper); ok {
		l.broken, l.before = k.found, k.whole
		if k.gone {
			l.Add(Entry{Event: "gap", Message: "files of the trail were deleted before this start"})
		}
	}
	if cut > 0 {
		l.o.Log.Warn("a line of the audit trail that a crash cut off was removed", "bytes", cut)
		l.Add(Entry{Event: "repaired", Message: fmt.Sprintf("%d bytes of a line that a crash cut off were removed", cut)})
	}
	return l, nil
}

// Failing returns why entries cannot be written, and how many wait in memory; nil if they can, as far as is known.
func (l *Log) Failing() (waiting int, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.pending), l.failing
}

// Broken returns the first place at which the newest files were changed: before Open, or at their end since then; first of all, that
// files were deleted. It stays, even if lines follow. before is the number of entries in front of it. at is nil if nothing was changed.
func (l *Log) Broken() (at *Broken, before int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k, files := l.kept.(*fileKeeper)
	if !files {
		return nil, 0
	}
	at, gone := k.broken(l.number, l.hash)
	if gone { // it passes if they come back before the next entry
		return at, 0
	}
	if l.broken == nil && at != nil {
		l.broken, l.before = at, l.number-1
	}
	return l.broken, l.before
}

// resume takes up one of the newest entries.
func (l *Log) resume(e Entry) {
	if !e.answer() && e.Time.After(l.last) && e.Time.Before(l.since) {
		l.last = e.Time
	}
	l.known(e)
}

// Add appends entries, but for outcomes of deliveries that the trail has. It fills in
// Number, Time if it is zero, and the chain. If the disk takes nothing, up to 10,000
// entries wait in memory, and the operator's log says so; of what is more than that the
// trail has only the count. A nil Log records nothing.
func (l *Log) Add(all ...Entry) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range all {
		if l.known(e) {
			continue
		}
		if e.Time.IsZero() {
			e.Time = time.Now()
		}
		if y := e.Asked.Year(); y < 0 || y > 9999 { // no JSON holds it, and nothing behind it would be written
			e.Asked = time.Time{}
		}
		e.Time = e.Time.UTC().Truncate(time.Millisecond)
		if l.countRefusals(time.Now(), false); !l.refused.takes(&e) {
			continue
		}
		l.leaveOut(&e)
		if len(l.pending) >= maxPending {
			l.lost++
			continue
		}
		l.pending = append(l.pending, e)
	}
	if l.failing == nil && (l.o.State == nil || len(l.pending) >= mostRows) { // else Run does, if it failed each second
		l.flush()
	}
	l.wake()
}

// wake has Run sync within a second. The caller holds mu.
func (l *Log) wake() {
	if !l.dirty && len(l.pending) == 0 && !l.refused.counting() {
		return
	}
	wake.Up(l.written)
}

// flush writes what waits. The caller holds mu.
func (l *Log) flush() {
	if len(l.pending) == 0 {
		return
	}
	err := l.write()
	switch {
	case err != nil && l.failing == nil:
		l.o.Log.Error("the audit trail cannot be written; its entries wait in memory", "waiting", len(l.pending), "error", err)
	case err == nil && l.failing != nil:
		l.o.Log.Info("the audit trail is written again")
	}
	l.failing = err
}

func (l *Log) write() (err error) {
	for len(l.pending) > 0 {
		if l.number, l.hash, err = l.kept.put(l.number, l.hash, l.pending); err != nil {
			return err
		}
		l.dirty = true
		if l.pending = l.pending[:0]; cap(l.pending) > mostRows { // many entries waited
			l.pending = nil
		}
		if l.lost > 0 {
			l.pending = append(l.pending, Entry{Event: "gap", Time: time.Now().UTC(), Message: fmt.Sprintf("%d entries could not be kept", l.lost)})
			l.lost = 0
		}
	}
	return nil
}

// Run makes lines durable within a second and removes old files, until ctx is done. While
// nothing is added, it sleeps.
func (l *Log) Run(ctx context.Context) {
	keep := time.Tick(keepEvery)
	l.expire()
	var due <-chan time.Time // nil: nothing is to be synced
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.written:
			if due == nil {
				due = time.After(l.pause())
			}
		case <-due:
			due = nil
			if err := l.sync(); err != nil {
				l.o.Log.Error("sync the audit trail", "error", err)
			}
		case <-keep:
			l.expire()
		}
	}
}

// pause is how long what was added may wait. Rows are written at once.
func (l *Log) pause() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.o.State != nil && len(l.pending) > 0 && l.failing == nil {
		return 0
	}
	return syncEvery
}

// expire removes what is older than the operator wants.
func (l *Log) expire() {
	if l.o.Settings == nil {
		return
	}
	if keep := l.o.Settings.AuditKeeps(); keep > 0 {
		if err := l.kept.expire(keep); err != nil {
			l.o.Log.Error("remove what is old of the audit trail", "error", err)
		}
	}
}

// sync writes what waits, and makes all durable. Add goes on meanwhile.
func (l *Log) sync() error {
	l.mu.Lock()
	l.countRefusals(time.Now(), false)
	l.flush()
	dirty := l.dirty
	l.dirty = false
	l.wake() // if the disk still takes nothing
	l.mu.Unlock()
	if !dirty {
		return nil
	}
	return l.kept.sync()
}

// Close writes and syncs what waits, and closes the trail.
func (l *Log) Close() error {
	l.mu.Lock()
	l.countRefusals(time.Now(), true)
	l.mu.Unlock()
	err := l.sync()
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.pending) + l.lost; n > 0 {
		err = errors.Join(err, fmt.Errorf("%d entries of the audit trail could not be written", n))
	}
	return errors.Join(err, l.kept.Close())
}

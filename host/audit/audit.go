// Package audit keeps the trail of what left the host and of what was refused: one line
// of JSON for each outcome, in files that are only appended to, chained by hash.
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
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

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
	Dir      string   // for the Log alone; created if it is missing
	Settings Settings // nil: files stay for ever, and entries do without Captions and Numbers
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

	repeat = 24 * time.Hour // how far back entries are repeated at least
	lateBy = time.Hour      // a line is written at most so long after its outcome was recorded
)

// Log is the end of the trail. Its methods may be called from several goroutines.
type Log struct {
	o   Options
	key []byte // of Mask

	mu       sync.Mutex
	file     *os.File
	size     int64
	number   int64 // of the last line
	hash     string
	pending  []Entry       // not written yet: the disk took none
	lost     int           // of those, what was too much
	out      bytes.Buffer  // what write writes: its memory is used again
	dirty    bool          // written and not synced
	torn     bool          // behind size stands what a write left that failed half way
	failing  bool          // the operator was told
	written  chan struct{} // Run has something to do
	seen, ex map[outcome]event
	refused  refusals

	seenFrom, exFrom time.Time // of the first line in each
	since            time.Time // see Since
	last             time.Time // of the newest line that is older than repeat
}

// Open opens the trail in o.Dir, and removes a line that a crash cut off. Nobody else has
// it open: the host's outbox is locked. The caller calls Run, and Close when Run has
// returned.
func Open(o Options) (_ *Log, err error) {
	o.most = cmp.Or(o.most, maxFile)
	l := &Log{o: o, seen: map[outcome]event{}, written: make(chan struct{}, 1)}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("open audit trail: %w", err)
	}
	if l.key, err = keyIn(o.Dir); err != nil {
		return nil, fmt.Errorf("open audit trail: %w", err)
	}
	l.since = time.Now().Add(-repeat)
	if err := l.resume(); err != nil {
		return nil, fmt.Errorf("open audit trail: %w", err)
	}
	return l, nil
}

// resume finds the end of the trail.
func (l *Log) resume() error {
	all, err := files(l.o.Dir)
	if err != nil || len(all) == 0 {
		return err
	}
	last := all[len(all)-1]
	var whole, torn int64
	for _, path := range all[max(0, len(all)-2):] {
		if whole, torn, err = l.readEnd(path); err != nil {
			return fmt.Errorf("read %s, which may be moved away: %w", path, err)
		}
	}
	l.reachBack()
	if l.file, err = os.OpenFile(last, os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return err
	}
	l.size = whole
	if torn == 0 {
		return nil
	}
	if err := l.file.Truncate(whole); err != nil {
		return errors.Join(err, l.file.Close())
	}
	l.o.Log.Warn("a line of the audit trail that a crash cut off was removed", "file", filepath.Base(last), "bytes", torn)
	l.Add(Entry{Event: "repaired", Message: fmt.Sprintf("%d bytes of a line that a crash cut off were removed", torn)})
	return nil
}

// readEnd reads the newest file: the outcomes in it, its last whole line, and how many
// bytes stand before and after that line's end.
func (l *Log) readEnd(path string) (whole, torn int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	end, err := lines(f, func(line []byte) error {
		e, err := parse(line)
		if err != nil {
			e.Hash = hashOf(line) // the chain goes on from what is there; Verify names the line
			l.o.Log.Error("a line of the audit trail is broken", "file", filepath.Base(path), "error", err)
		} else if !e.answer() && e.Time.After(l.last) && e.Time.Before(l.since) {
			l.last = e.Time
		}
		l.number, l.hash = max(l.number+1, e.Number), e.Hash
		l.known(e)
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	if l.number == 0 { // the first line of this file was cut off: its name has its number
		l.number, l.hash = numberOf(path)-1, ""
	}
	return end, info.Size() - end, nil
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
	if !l.failing { // else Run tries each second
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
	case err != nil && !l.failing:
		l.o.Log.Error("the audit trail cannot be written; its entries wait in memory", "waiting", len(l.pending), "error", err)
	case err == nil && l.failing:
		l.o.Log.Info("the audit trail is written again")
	}
	l.failing = err != nil
}

func (l *Log) write() error {
	all := l.pending
	if l.lost > 0 {
		all = append(slices.Clip(all), Entry{Event: "gap", Time: time.Now().UTC(), Message: fmt.Sprintf("%d entries could not be kept", l.lost)})
	}
	if err := l.mend(); err != nil {
		return err
	}
	if err := l.rotate(); err != nil {
		return err
	}
	number, hash := l.number, l.hash
	l.out.Reset()
	for _, e := range all {
		number++
		e.Number, e.Previous = number, hash
		var err error
		if hash, err = encode(&l.out, &e); err != nil {
			return err
		}
	}
	if n, err := l.file.Write(l.out.Bytes()); err != nil {
		l.torn = l.torn || n > 0
		return err
	}
	l.number, l.hash, l.size, l.dirty = number, hash, l.size+int64(l.out.Len()), true
	l.pending, l.lost = l.pending[:0], 0
	if l.out.Cap() > maxLine { // many entries waited for the disk
		l.out, l.pending = bytes.Buffer{}, nil
	}
	return nil
}

// mend removes what a write left that failed half way: behind it, no line would be whole.
func (l *Log) mend() error {
	if !l.torn {
		return nil
	}
	err := l.file.Truncate(l.size)
	l.torn = err != nil
	return err
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
				due = time.After(syncEvery)
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

// sync writes what waits, and makes all durable. Add goes on meanwhile.
func (l *Log) sync() error {
	l.mu.Lock()
	l.countRefusals(time.Now(), false)
	l.flush()
	f, dirty := l.file, l.dirty
	l.dirty = false
	l.wake() // if the disk still takes nothing
	l.mu.Unlock()
	if !dirty {
		return nil
	}
	if err := f.Sync(); err != nil && !errors.Is(err, fs.ErrClosed) { // rotate has synced it
		return err
	}
	return nil
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
	if l.file != nil {
		err = errors.Join(err, l.file.Close())
	}
	return err
}

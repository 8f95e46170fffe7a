package spool

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
)

// ErrStopped is returned by Next after Run has ended.
var ErrStopped = errors.New("the spool has stopped")

// ErrNotServed is returned by a write for a group that the Spool does not serve.
var ErrNotServed = errors.New("the group is not served")

// Item is one request with the bytes that were read from its file. Later changes to
// the file do not change the Item.
type Item struct {
	Folder  string // the source group; it follows from the directory, not from the request
	Name    string // file name below messages/, or "files/…" for a request that a fork wrote there
	ID      string // the file name without ".json"; a valid id, and not trusted beyond that
	Body    []byte
	ModTime time.Time
	Request ipc.Request // zero if it could not be decoded
	Found   Found       // filled by the caller of Next

	info    fs.FileInfo
	decided bool // accepted, refused or deferred
}

// Follows reports whether a request with this id would stand before the item in its queue.
func (it *Item) Follows(id string) bool { return byID(id+ipc.Suffix, it.Name) < 0 }

// Found is what the host knows of a request when it refuses it.
type Found struct {
	Channel, Chat string        // where it would go, if the group may send there
	Files         []ipc.Outcome // name, kind, size and hash of each of Request.Files that was examined
}

// Batch is the next requests of one group, in the order of their file names. Until
// Done, no other batch of the group is handed out. The caller accepts, refuses or
// defers each item once. Done defers the items that the caller did not decide. The
// methods are for one goroutine.
type Batch struct {
	Folder string
	Items  []*Item

	spool   *Spool
	group   *group
	gone    []removal    // to be unlinked
	later   []string     // names of requests that stay in the queue
	first   string       // the first of later that was deferred with a reason
	why     *ipc.Refusal // the reason of first; nil: no request has a reason
	through int          // number of items that were accepted or refused
}

// Next blocks until a request waits, and returns the next batch of one group. Groups
// are served in turn. Several goroutines may call Next, also before Run. The error
// is ErrStopped after Run has ended, or the error of ctx.
func (s *Spool) Next(ctx context.Context) (*Batch, error) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-s.stopped:
			return nil, ErrStopped
		case <-s.ready.some:
			g := s.ready.next()
			if g == nil {
				continue
			}
			if !s.begin() {
				return nil, ErrStopped
			}
			b := s.batch(g)
			if len(b.Items) > 0 {
				return b, nil
			}
			b.Done()          // every request was refused here or has been withdrawn
			runtime.Gosched() // at a start, thousands of empty queues stand behind one that is not
		}
	}
	return nil, ctx.Err()
}

// Remove takes a request out of the queue. Before the call, the caller has recorded
// the request durably, unless the request needs no record. The spool unlinks the
// file after Done.
func (b *Batch) Remove(it *Item) {
	it.decided = true
	b.through++
	b.unlink(it)
}

// Refuse moves a request to the errors folder and writes a refused result.
func (b *Batch) Refuse(it *Item, r *ipc.Refusal) {
	it.decided = true
	if b.reject(it, r) {
		b.through++
	}
}

// Defer leaves a request in the queue for now. Its result becomes queued and says what
// the request waits for; with nil, no result is written. The request is handed out
// again after [Spool.Wake] or at the next rescan.
func (b *Batch) Defer(it *Item, why *ipc.Refusal) {
	it.decided = true
	b.later = append(b.later, it.Name)
	b.waits(it, why).leased = time.Time{} // the file could be read, so no lease blocks it
}

// waits counts an attempt at a request that has to wait, and notes its reason.
func (b *Batch) waits(it *Item, why *ipc.Refusal) *waiting {
	if why != nil && (b.why == nil || byID(it.Name, b.first) < 0) {
		b.first, b.why = it.Name, why
	}
	return b.spool.await(b.group, it, why)
}

// mostTold is how many requests behind a deferred one get a result: as many results of
// a group are kept.
const mostTold = 1000

// tellBehind writes a queued result for each request behind the first deferred one, so
// that no request waits without a reason.
func (b *Batch) tellBehind() {
	s, g, why := b.spool, b.group, b.why
	if why == nil {
		return
	}
	behind := &ipc.Refusal{Code: why.Code, Message: "an earlier request of this group waits: " + why.Message, Hint: why.Hint}
	for _, name := range g.names[:min(len(g.names), mostTold)] {
		if w := g.later[name]; name != b.first && (w == nil || w.reason != why.Code && w.reason != behindA+why.Code) {
			_, file := placeOf(name)
			s.tell(g, &Item{Folder: g.folder, Name: name, ID: strings.TrimSuffix(file, ipc.Suffix)}, behindA+why.Code, behind)
		}
	}
}

// recordStuck records which request the queue waits for, and why.
func (b *Batch) recordStuck() {
	g := b.group
	g.mu.Lock()
	defer g.mu.Unlock()
	if b.why == nil {
		g.stuck = Stuck{}
		return
	}
	_, file := placeOf(b.first)
	now := Stuck{Request: ipc.Printable(strings.TrimSuffix(file, ipc.Suffix)), Since: time.Now(), Why: *b.why}
	if g.stuck.Request == now.Request {
		now.Since = g.stuck.Since
	}
	g.stuck = now
}

// behindA is before the code in the reason of a request that waits for an earlier one.
const behindA = "behind "

// Withdrawn reports whether the request's file has vanished since it was read: its
// client has unlinked the file, or moved its directory away. The caller then removes
// the request and writes no result. If the spool cannot look, the answer is false.
func (b *Batch) Withdrawn(it *Item) bool {
	p, file := placeOf(it.Name)
	return errors.Is(b.group.dirs.in(p, func(dir *os.Root) error {
		_, err := dir.Lstat(file)
		return err
	}), fs.ErrNotExist)
}

// Done ends the batch: accepted and refused requests are unlinked. If a request was
// deferred, the group waits for Wake or the next rescan; otherwise the group goes to
// the end of the line. Done is called once.
func (b *Batch) Done() {
	s, g := b.spool, b.group
	for _, it := range b.Items {
		switch {
		case it.decided:
		case b.why != nil: // tellBehind writes the result
			b.later = append(b.later, it.Name)
		default:
			b.Defer(it, nil)
		}
	}
	if len(b.gone) > 0 {
		s.removals <- b.gone
	}
	if len(b.later) == 0 {
		g.size = min(2*g.size, s.opts.Batch)
	} else {
		// Deferred requests keep their position. The next batch is no larger than
		// the number that got through this time: reading the whole backlog for each
		// free position would cost the square of its length.
		slices.SortFunc(b.later, byID)
		g.names = append(b.later, g.names...)
		g.size = max(b.through, 1)
		b.tellBehind()
	}
	b.recordStuck()
	s.done(g, len(b.later) > 0)
	s.batches.Done()
}

// batch reads the next requests of a group. Requests that cannot be handed out are
// refused here or left in the queue. If the host has run out of something, it could
// read any later request before this one; so all that follow wait too, in their order.
func (s *Spool) batch(g *group) *Batch {
	b := &Batch{Folder: g.folder, spool: s, group: g}
	names := s.take(g)
	for i, name := range names {
		if !b.read(name) {
			b.later = append(b.later, names[i:]...)
			break
		}
	}
	return b
}

// writtenAt is the modification time of a request's file. A container can set any, also one that
// neither JSON nor a count of nanoseconds can hold: such a time counts as 1970.
func writtenAt(info fs.FileInfo) time.Time {
	if t := info.ModTime().UTC(); t.Year() >= 1700 && t.Year() <= 2200 {
		return info.ModTime()
	}
	return time.Unix(0, 0)
}

// read reads one request and adds it to the batch, or refuses it. It returns false if
// the host cannot read anything now.
func (b *Batch) read(name string) bool {
	s, g := b.spool, b.group
	p, file := placeOf(name)
	var body []byte
	var info fs.FileInfo
	err := g.dirs.in(p, func(dir *os.Root) (err error) {
		body, info, err = readRequest(dir, file)
		return err
	})
	id := strings.TrimSuffix(file, ipc.Suffix)
	it := &Item{Folder: g.folder, Name: name, ID: id, Body: body, info: info}
	if info != nil {
		it.ModTime = writtenAt(info)
	}
	var refusal *ipc.Refusal
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true // withdrawn
	case errors.As(err, &refusal):
	case exhausted(err):
		b.waits(it, &ipc.Refusal{Message: cannotRead})
		s.noise.say(slog.LevelWarn, "the host has run out of descriptors or memory; requests wait", g.folder, "request", ipc.Printable(it.ID), "error", err)
		return false
	case err != nil:
		if refusal = s.stepOver(g, it, err); refusal == nil {
			return true
		}
	case !ipc.ValidID(id):
		refusal = refuse(ipc.CodeBadName, "the request's file name is not valid",
			"use letters, digits, dot, hyphen and underscore, at most 200 bytes, then .json")
	default:
		s.trace(g.folder, id, "read")
		if it.Request, err = ipc.Decode(body); err != nil && s.opts.Known(g.folder, id) {
			b.Remove(it) // its client need not sync what the host records
			return true
		}
		errors.As(err, &refusal)
	}
	if refusal != nil {
		b.reject(it, refusal)
		return true
	}
	b.Items = append(b.Items, it)
	return true
}

// await counts an attempt at a request that has to wait. It writes a queued result
// for each new reason, so that the client sees each reason once.
func (s *Spool) await(g *group, it *Item, why *ipc.Refusal) *waiting {
	if why == nil {
		why = &ipc.Refusal{}
	}
	w := s.tell(g, it, why.Code, why)
	w.attempts++
	return w
}

// tell writes a queued result, unless the last one of the request had the same reason.
func (s *Spool) tell(g *group, it *Item, reason string, why *ipc.Refusal) *waiting {
	w, known := g.later[it.Name]
	if !known {
		if g.later == nil {
			g.later = make(map[string]*waiting)
		}
		w = &waiting{first: time.Now()}
		g.later[it.Name] = w
	}
	if known && w.reason == reason || !ipc.ValidID(it.ID) {
		return w
	}
	w.reason = reason
	err := s.WriteResult(g.folder, ipc.Result{ID: it.ID, Status: ipc.Queued, Code: why.Code, Message: why.Message, Hint: why.Hint})
	if err != nil {
		s.noise.say(slog.LevelWarn, "result not written", g.folder, "request", it.ID, "error", err)
	}
	return w
}

// reject moves a request to the errors folder. If that fails, the request stays in
// the queue, so that no request vanishes without a trace. It reports whether the
// request was moved.
func (b *Batch) reject(it *Item, r *ipc.Refusal) bool {
	s, g := b.spool, b.group
	q := Quarantined{
		Folder: g.folder, Request: ipc.Printable(it.ID), Code: r.Code, Message: r.Message, Hint: r.Hint,
		Attempts: 1, First: time.Now().UTC(), Last: time.Now().UTC(), Written: it.ModTime.UTC(),
	}
	if w := g.later[it.Name]; w != nil {
		q.Attempts, q.First = w.attempts+1, w.first.UTC()
	}
	if err := s.errors.add(q, strings.TrimPrefix(it.Name, ipc.FilesDir+"/"), it.Body); err != nil {
		s.noise.say(slog.LevelError, "cannot move a refused request to the errors folder; it stays in the queue", g.folder, "request", q.Request, "error", err)
		b.later = append(b.later, it.Name)
		b.waits(it, &ipc.Refusal{Message: "the host cannot refuse the request now and will try again"})
		return false
	}
	if s.opts.Refused != nil {
		s.opts.Refused(q, it)
	}
	s.noise.say(slog.LevelWarn, "request refused", g.folder, "request", q.Request, "code", q.Code, "reason", q.Message)
	if ipc.ValidID(it.ID) {
		res := ipc.Result{ID: it.ID, Status: ipc.Refused, Code: r.Code, Message: r.Message, Hint: r.Hint, Parts: r.Parts}
		if err := s.WriteResult(g.folder, res); err != nil {
			s.noise.say(slog.LevelWarn, "result not written", g.folder, "request", it.ID, "error", err)
		}
	}
	b.unlink(it)
	return true
}

// unlink marks a request for unlinking and hides it from listings until it is
// unlinked.
func (b *Batch) unlink(it *Item) {
	g := b.group
	g.mu.Lock()
	g.mark(it.Name)
	g.mu.Unlock()
	delete(g.later, it.Name)
	b.gone = append(b.gone, removal{g, it.Name, it.info})
}

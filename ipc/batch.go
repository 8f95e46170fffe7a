package ipc

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"
)

// ErrStopped is returned by Next once Run has ended.
var ErrStopped = errors.New("the spool has stopped")

// Item is one request as it was read: nothing that the container does
// afterwards changes it.
type Item struct {
	Folder  string // the group it comes from, known by its directory alone
	Name    string // of the file below messages/, or "files/…" for one that a fork wrote there
	ID      string // the file's name without ".json"; a valid id, trusted for no more
	Body    []byte
	ModTime time.Time
	Request Request

	info    fs.FileInfo
	decided bool // accepted, refused or deferred
}

// Batch is the next requests of one group, in the order of their names. Nobody
// else is handed requests of the group until Done. Each item is accepted,
// refused or deferred once; one that is not comes again, as if it were deferred
// without a reason. The methods are for one goroutine.
type Batch struct {
	Folder string
	Items  []*Item

	spool   *Spool
	group   *group
	gone    []removal // to be unlinked
	later   []string  // names that come again
	through int       // items that were accepted or refused
}

// Next waits for requests and hands out the next batch of one group; groups
// take turns. It may be called from several goroutines, and waits until Run
// does. It returns an error once ctx is done or Run has ended.
func (s *Spool) Next(ctx context.Context) (*Batch, error) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-s.stopped:
			return nil, ErrStopped
		case g := <-s.ready:
			if !s.begin() {
				return nil, ErrStopped
			}
			b := s.batch(g)
			if len(b.Items) > 0 {
				return b, nil
			}
			b.Done() // all of it was refused here, or withdrawn
		}
	}
	return nil, ctx.Err()
}

// Accept takes a request out of the queue: it is recorded durably elsewhere, or
// needs no record. It will be unlinked.
func (b *Batch) Accept(it *Item) {
	it.decided = true
	b.through++
	b.remove(it)
}

// Refuse puts a request into the errors folder, with a refused result.
func (b *Batch) Refuse(it *Item, r *Refusal) {
	it.decided = true
	if b.reject(it, r) {
		b.through++
	}
}

// Defer leaves a request in the queue for now. Its result says queued, with
// code and note, which may be empty. It comes again after [Spool.Wake], or at
// the next rescan.
func (b *Batch) Defer(it *Item, code, note string) {
	it.decided = true
	b.later = append(b.later, it.Name)
	b.spool.await(b.group, it, code, note).leased = time.Time{} // it was read
}

// Withdrawn says whether the client has unlinked the request since it was
// read. There is nothing more to be done for it then: accept it.
func (b *Batch) Withdrawn(it *Item) bool {
	p, file := placeOf(it.Name)
	return b.group.dirs.in(p, func(dir *os.Root) error {
		_, err := dir.Lstat(file)
		return err
	}) != nil
}

// Done ends the batch: what was accepted or refused is unlinked, and the group
// has its next turn at the end of the line, or waits if something was deferred.
// It is called once.
func (b *Batch) Done() {
	s, g := b.spool, b.group
	for _, it := range b.Items {
		if !it.decided {
			b.Defer(it, "", "")
		}
	}
	if len(b.gone) > 0 {
		s.removals <- b.gone
	}
	if len(b.later) == 0 {
		g.size = min(2*g.size, s.opts.Batch)
	} else {
		// They keep their place, and the next try is no larger than what went
		// through: reading all of a backlog for each place that gets free would
		// cost its square.
		slices.SortFunc(b.later, byID)
		g.names = append(b.later, g.names...)
		g.size = max(b.through, 1)
	}
	s.done(g, len(b.later) > 0)
	s.batches.Done()
}

// batch reads the next requests of a group. Those that cannot be handed out
// are refused or left here.
func (s *Spool) batch(g *group) *Batch {
	b := &Batch{Folder: g.folder, spool: s, group: g}
	for _, name := range s.take(g) {
		b.read(name)
	}
	return b
}

// read adds one request to the batch, or refuses it.
func (b *Batch) read(name string) {
	s, g := b.spool, b.group
	p, file := placeOf(name)
	var body []byte
	var info fs.FileInfo
	err := g.dirs.in(p, func(dir *os.Root) (err error) {
		body, info, err = readRequest(dir, file)
		return err
	})
	id := strings.TrimSuffix(file, suffix)
	it := &Item{Folder: g.folder, Name: name, ID: id, Body: body, info: info}
	if info != nil {
		it.ModTime = info.ModTime()
	}
	var refusal *Refusal
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return // withdrawn
	case errors.As(err, &refusal):
	case err != nil:
		if refusal = s.stepOver(g, it, err); refusal == nil {
			return
		}
	case !ValidID(id):
		refusal = refuse(CodeBadName, "the request's file name is not taken",
			"use letters, digits, dot, hyphen and underscore, at most 200 bytes, then .json")
	default:
		s.trace(g.folder, id, "read")
		if it.Request, err = Decode(body); err != nil {
			refusal = asRefusal(err)
		}
	}
	if refusal != nil {
		b.reject(it, refusal)
		return
	}
	b.Items = append(b.Items, it)
}

// await counts an attempt at a request that has to wait, and reports each new
// reason to its client once.
func (s *Spool) await(g *group, it *Item, code, note string) *waiting {
	w, known := g.later[it.Name]
	if !known {
		if g.later == nil {
			g.later = make(map[string]*waiting)
		}
		w = &waiting{first: time.Now()}
		g.later[it.Name] = w
	}
	w.attempts++
	if known && w.code == code || !ValidID(it.ID) {
		return w
	}
	w.code = code
	err := s.WriteResult(g.folder, Result{ID: it.ID, Status: Queued, Code: code, Message: note})
	if err != nil {
		s.noise.say(slog.LevelWarn, "result not written", g.folder, "request", it.ID, "error", err)
	}
	return w
}

// reject puts a request into the errors folder. Where that cannot be done, it
// stays in the queue: it must not vanish without a word.
func (b *Batch) reject(it *Item, r *Refusal) bool {
	s, g := b.spool, b.group
	q := Quarantined{
		Folder: g.folder, Request: printable(it.ID), Code: r.Code, Message: r.Message, Hint: r.Hint,
		Attempts: 1, First: time.Now().UTC(), Last: time.Now().UTC(), Written: it.ModTime.UTC(),
	}
	if w := g.later[it.Name]; w != nil {
		q.Attempts, q.First = w.attempts+1, w.first.UTC()
	}
	if err := s.errors.add(q, strings.TrimPrefix(it.Name, FilesDir+"/"), it.Body); err != nil {
		s.noise.say(slog.LevelError, "refused request cannot be moved to the errors folder, stays in the queue", g.folder, "request", q.Request, "error", err)
		b.later = append(b.later, it.Name)
		return false
	}
	s.noise.say(slog.LevelWarn, "request refused", g.folder, "request", q.Request, "code", q.Code, "reason", q.Message)
	if ValidID(it.ID) {
		res := Result{ID: it.ID, Status: Refused, Code: r.Code, Message: r.Message, Hint: r.Hint, Parts: r.Parts}
		if err := s.WriteResult(g.folder, res); err != nil {
			s.noise.say(slog.LevelWarn, "result not written", g.folder, "request", it.ID, "error", err)
		}
	}
	b.remove(it)
	return true
}

// remove has a request unlinked, and keeps it from being listed until it is.
func (b *Batch) remove(it *Item) {
	g := b.group
	g.mu.Lock()
	g.mark(it.Name)
	g.mu.Unlock()
	delete(g.later, it.Name)
	b.gone = append(b.gone, removal{g, it.Name, it.info})
}

// printable is a request's id as it may stand in a log or on a page.
func printable(id string) string {
	if ValidID(id) {
		return id
	}
	return quote(id)
}

package ipc

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// work takes groups in turn.
func (s *Spool) work(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case g := <-s.ready:
			s.done(g, s.turn(ctx, g))
		}
	}
}

// batch is one turn of a group.
type batch struct {
	group   *group
	drops   []Drop
	infos   []fs.FileInfo
	settled []removal
	later   []string // names that come again
}

// turn hands over one batch and says whether the group has to wait.
func (s *Spool) turn(ctx context.Context, g *group) (later bool) {
	b := &batch{group: g}
	for _, name := range s.take(g) {
		s.read(b, name)
	}
	accepted := 0
	if len(b.drops) > 0 {
		verdicts := s.opts.Handler(ctx, g.folder, b.drops)
		for i := range b.drops {
			v := Verdict{Later: true}
			if i < len(verdicts) {
				v = verdicts[i]
			}
			if s.settle(b, i, v) {
				accepted++
			}
		}
	}
	if len(b.settled) > 0 {
		s.removals <- b.settled
	}
	if len(b.later) == 0 {
		g.size = min(2*g.size, s.opts.Batch)
		return false
	}
	// They keep their place, and the next try is no larger than what went
	// through: reading all of a backlog for each place that gets free would
	// cost its square.
	slices.SortFunc(b.later, byID)
	g.names = append(b.later, g.names...)
	g.size = max(accepted, 1)
	return true
}

// read adds one request to the batch, or refuses it.
func (s *Spool) read(b *batch, name string) {
	g := b.group
	p, file := placeOf(name)
	var body []byte
	var info fs.FileInfo
	err := g.dirs.in(p, func(dir *os.Root) (err error) {
		body, info, err = readRequest(dir, file)
		return err
	})
	id := strings.TrimSuffix(file, suffix)
	d := Drop{Folder: g.folder, Name: name, ID: id, Body: body}
	if info != nil {
		d.ModTime = info.ModTime()
	}
	var refusal *Refusal
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return // withdrawn
	case errors.As(err, &refusal):
	case err != nil:
		s.log.Error("request cannot be read, will be tried again", "group", g.folder, "request", printable(id), "error", err)
		b.later = append(b.later, name)
		return
	case !ValidID(id):
		refusal = refuse(CodeBadName, "the request's file name is not taken",
			"use letters, digits, dot, hyphen and underscore, at most 200 bytes, then .json")
	default:
		s.trace(g.folder, id, "read")
		if d.Request, err = Decode(body); err != nil {
			refusal = asRefusal(err)
		}
	}
	if refusal != nil {
		s.reject(b, d, info, refusal)
		return
	}
	b.drops = append(b.drops, d)
	b.infos = append(b.infos, info)
}

// settle does what the verdict says, and says whether the request is through.
func (s *Spool) settle(b *batch, i int, v Verdict) bool {
	d := b.drops[i]
	switch {
	case v.Refusal != nil:
		return s.reject(b, d, b.infos[i], v.Refusal)
	case v.Later:
		s.putOff(b, d, v)
		return false
	}
	b.settle(d.Name, b.infos[i])
	return true
}

// putOff leaves a request for later and tells its client once.
func (s *Spool) putOff(b *batch, d Drop, v Verdict) {
	g := b.group
	b.later = append(b.later, d.Name)
	w, known := g.later[d.Name]
	if !known {
		if g.later == nil {
			g.later = make(map[string]*waiting)
		}
		w = &waiting{first: time.Now()}
		g.later[d.Name] = w
	}
	w.attempts++
	if known && w.code == v.Code {
		return
	}
	w.code = v.Code
	err := s.WriteResult(g.folder, Result{ID: d.ID, Status: Queued, Code: v.Code, Message: v.Note})
	if err != nil {
		s.log.Warn("result not written", "group", g.folder, "request", d.ID, "error", err)
	}
}

// reject puts a request into the errors folder. Where that cannot be done, it
// stays in the queue: it must not vanish without a word.
func (s *Spool) reject(b *batch, d Drop, info fs.FileInfo, r *Refusal) bool {
	g := b.group
	q := Quarantined{
		Folder: g.folder, Request: printable(d.ID), Code: r.Code, Message: r.Message, Hint: r.Hint,
		Attempts: 1, First: time.Now().UTC(), Last: time.Now().UTC(), Written: d.ModTime.UTC(),
	}
	if w := g.later[d.Name]; w != nil {
		q.Attempts, q.First = w.attempts+1, w.first.UTC()
	}
	if err := s.errors.add(q, strings.TrimPrefix(d.Name, FilesDir+"/"), d.Body); err != nil {
		s.log.Error("refused request cannot be put aside, stays", "group", g.folder, "request", q.Request, "error", err)
		b.later = append(b.later, d.Name)
		return false
	}
	s.tell(g, q)
	if ValidID(d.ID) {
		res := Result{ID: d.ID, Status: Refused, Code: r.Code, Message: r.Message, Hint: r.Hint, Parts: r.Parts}
		if err := s.WriteResult(g.folder, res); err != nil {
			s.log.Warn("result not written", "group", g.folder, "request", d.ID, "error", err)
		}
	}
	b.settle(d.Name, info)
	return true
}

// maxTold is how many refusals of a group the log takes in a minute: thousands
// a second would cost a container nothing and the host its disk.
const maxTold = 60

// tell writes a refusal to the log, or counts it.
func (s *Spool) tell(g *group, q Quarantined) {
	if now := time.Now(); now.Sub(g.toldSince) >= time.Minute {
		if more := g.refusals - maxTold; more > 0 {
			s.log.Warn("more requests were refused; the errors folder has the latest", "group", g.folder, "count", more)
		}
		g.toldSince, g.refusals = now, 0
	}
	if g.refusals++; g.refusals <= maxTold {
		s.log.Warn("request refused", "group", g.folder, "request", q.Request, "code", q.Code, "reason", q.Message)
	}
}

// settle marks a request as handled until it is unlinked.
func (b *batch) settle(name string, info fs.FileInfo) {
	g := b.group
	g.mu.Lock()
	if g.handled == nil {
		g.handled = make(map[string]struct{})
	}
	g.handled[name] = struct{}{}
	g.mu.Unlock()
	delete(g.later, name)
	b.settled = append(b.settled, removal{g, name, info})
}

// printable is a request's id as it may stand in a log or on a page.
func printable(id string) string {
	if ValidID(id) {
		return id
	}
	return quote(id)
}

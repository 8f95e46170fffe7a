package ipc

import (
	"errors"
	"log/slog"
	"syscall"
	"time"
)

// maxBusy is how long a request may be kept from the host by a lease before it
// is refused. An honest holder lets go within milliseconds after the kernel
// asked for it, and a tool waits 45 s for its result.
const maxBusy = 30 * time.Second

// stepOver leaves a request that cannot be opened now where it is, so that the
// requests behind it go on. It comes again at the next check. The refusal is for
// one whose container would keep it from the host for ever, by a lease on its
// file; trouble of the host's own (too many open files, a failing disk) never
// loses a request.
func (s *Spool) stepOver(g *group, it *Item, err error) *Refusal {
	leased := errors.Is(err, syscall.EAGAIN) // O_NONBLOCK on a file with a lease: open(2)
	code, note := "", "the host cannot read the request now and will try again"
	if leased {
		code, note = CodeBusy, "another program holds a lease on the request's file; the host will try again"
	}
	w := g.later[it.Name]
	if leased && w != nil && !w.leased.IsZero() && time.Since(w.leased) >= maxBusy {
		return refuse(CodeBusy, "a lease on the request's file kept the host from reading it",
			"take no lease on a request's file, and close the file before it is renamed into place")
	}
	w = s.await(g, it, code, note)
	if leased && w.leased.IsZero() {
		w.leased = time.Now()
	}
	s.noise.say(slog.LevelWarn, "request cannot be read, will be tried again", g.folder, "request", printable(it.ID), "error", err)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mark(it.Name)
	g.stepped = append(g.stepped, it.Name)
	return nil
}

// again has the requests that were stepped over listed once more.
func (s *Spool) again(g *group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.stepped) == 0 {
		return
	}
	for _, name := range g.stepped {
		delete(g.handled, name)
	}
	g.stepped = nil
	g.dirty = true
	s.enqueue(g)
}

// mark keeps a name from being listed. It is called with g.mu held.
func (g *group) mark(name string) {
	if g.handled == nil {
		g.handled = make(map[string]struct{})
	}
	g.handled[name] = struct{}{}
}

func (g *group) isHandled(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, ok := g.handled[name]
	return ok
}

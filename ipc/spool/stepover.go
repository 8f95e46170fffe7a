package spool

import (
	"errors"
	"log/slog"
	"syscall"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
)

// maxBusy is how long a lease may keep the host from reading a request before the
// request is refused. An honest holder releases its lease within milliseconds after
// the kernel asks, and a tool waits 45 s for its result.
const maxBusy = 30 * time.Second

// cannotRead is the message in the result of a request that the host cannot read.
const cannotRead = "the host cannot read the request now and will try again"

// exhausted reports whether an error is the host's lack of something, not the file's.
func exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

// stepOver leaves a request that cannot be opened now in the queue, so that the
// requests behind it are served. The next check tries it again. stepOver returns a
// refusal only if a lease has blocked the file for maxBusy, as the container could
// otherwise block it for ever. The host's own trouble, such as a failing disk, never
// loses a request.
func (s *Spool) stepOver(g *group, it *Item, err error) *ipc.Refusal {
	leased := errors.Is(err, syscall.EAGAIN) // open(2): O_NONBLOCK on a file with a lease
	why := &ipc.Refusal{Message: cannotRead}
	if leased {
		why = refuse(ipc.CodeBusy, "another program holds a lease on the request's file; the host will try again", "close the file before you rename it into place")
	}
	w := g.later[it.Name]
	if leased && w != nil && !w.leased.IsZero() && time.Since(w.leased) >= maxBusy {
		return refuse(ipc.CodeBusy, "a lease on the request's file kept the host from reading it",
			"take no lease on a request's file, and close the file before you rename it into place")
	}
	w = s.await(g, it, why)
	if leased && w.leased.IsZero() {
		w.leased = time.Now()
	}
	s.noise.say(slog.LevelWarn, "cannot read a request; the host will try again", g.folder, "request", ipc.Printable(it.ID), "error", err)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mark(it.Name)
	g.stepped = append(g.stepped, it.Name)
	return nil
}

// again lists the requests that were stepped over once more.
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

// mark hides a name from listings. It is called with g.mu held.
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

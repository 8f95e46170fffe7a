// Package upkeep knows which parts of a host are down, and brings them up again. The rest of the
// host does without them meanwhile.
package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// List has the parts that are down, each with its cause. New makes one. Its methods may be called
// concurrently.
type List struct {
	log *slog.Logger
	mu  sync.Mutex
	all map[string]finding.Finding // by their ID
}

// New returns a List without parts. It logs what goes down, and what comes up again.
func New(log *slog.Logger) *List { return &List{log: log, all: map[string]finding.Finding{}} }

// Tell notes that the part of f is down because of err, or up if err is nil. It reports whether the
// part was down.
func (l *List) Tell(f finding.Finding, err error) (was bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	had, was := l.all[f.ID()]
	if err == nil {
		if delete(l.all, f.ID()); was {
			l.log.Info("up again", "part", f.Part)
		}
		return was
	}
	f.Severity, f.Cause, f.Since = finding.Fault, err.Error(), had.Since
	if !was {
		f.Since = time.Now()
	}
	if l.all[f.ID()] = f; f != had {
		l.log.Error("down; the host runs on without it and tries again", "part", f.Part, "error", f.Cause, "remedy", f.Remedy)
	}
	return was
}

// Replace notes that of the parts that can be down by that name, those in next are, each for its
// Cause. It reports whether others were before.
func (l *List) Replace(name string, next []finding.Finding) (changed bool) {
	for _, f := range l.Findings(context.Background()) {
		if f.Name == name && !slices.ContainsFunc(next, func(n finding.Finding) bool { return n.ID() == f.ID() }) {
			changed = l.Tell(f, nil) || changed
		}
	}
	for _, f := range next {
		changed = !l.Tell(f, errors.New(f.Cause)) || changed
	}
	return changed
}

// Of returns what keeps one of some parts, or a detail of it, down.
func (l *List) Of(parts ...string) (f finding.Finding, down bool) {
	for _, f := range l.Findings(context.Background()) {
		if whole, _, _ := strings.Cut(f.Part, ","); slices.Contains(parts, whole) {
			return f, true
		}
	}
	return f, false
}

// Findings implements finding.Source.
func (l *List) Findings(context.Context) []finding.Finding {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.SortedFunc(maps.Values(l.all), func(a, b finding.Finding) int { return a.Since.Compare(b.Since) })
}

// The pauses between two attempts to bring up a part.
const (
	FirstPause   = time.Second
	LongestPause = 15 * time.Second
)

// Keep runs a part until ctx is done: open, which does nothing if the part is open, then run. While
// one of them fails, the part is down, and is tried again after a pause. It is up when it has run for
// FirstPause.
func (l *List) Keep(ctx context.Context, f finding.Finding, open func() error, run func(context.Context) error) {
	for pause := FirstPause; ; pause = min(2*pause, LongestPause) {
		err := open()
		if err == nil {
			told := make(chan struct{})
			up := time.AfterFunc(FirstPause, func() {
				defer close(told)
				l.Tell(f, nil)
			})
			if err = run(ctx); !up.Stop() {
				<-told
				pause = FirstPause
			}
		}
		if err != nil && ctx.Err() == nil {
			l.Tell(f, err)
		}
		if !wake.Sleep(ctx, pause) {
			return
		}
	}
}

// Server is a part that listens.
type Server interface {
	Listen() (net.Listener, error)
	Serve(ctx context.Context, l net.Listener) error // until ctx is done, which is no error; closes l
}

// Listener runs a Server at the address below a key of longshore.yaml. A nil Listener does nothing.
type Listener struct {
	server Server
	list   *List
	down   finding.Finding
	at     net.Listener // nil: the Server does not listen
}

// Listener listens. After an error, Run of the Listener tries again.
func (l *List) Listener(key string, s Server) *Listener {
	one := &Listener{server: s, list: l, down: finding.Finding{Name: finding.Listener, Part: key, Remedy: finding.Occupied(key, "restart the host")}}
	l.Tell(one.down, one.open())
	return one
}

func (l *Listener) open() (err error) {
	if l.at == nil {
		l.at, err = l.server.Listen()
	}
	return err
}

// Run serves until ctx is done, and returns no error.
func (l *Listener) Run(ctx context.Context) error {
	if l == nil {
		return nil
	}
	l.list.Keep(ctx, l.down, l.open, func(ctx context.Context) error {
		at := l.at
		l.at = nil
		return l.server.Serve(ctx, at)
	})
	return nil
}

// Close stops listening. Run must have returned.
func (l *Listener) Close() error {
	if l == nil || l.at == nil {
		return nil
	}
	return l.at.Close()
}

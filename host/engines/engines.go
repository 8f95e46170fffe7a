// Package engines connects to the container engines of a configuration, knows which of them answer,
// and decides on which of them each group's container runs.
//
// Each engine is looked after by a goroutine of its own: one that does not answer delays nobody of
// another one. A group that may run on several engines goes where the fewest assistants run. It stays
// there, since its volume is that engine's: the state has a row for it.
//
// The package starts no container, and checks no image.
package engines

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// Host is what the engines are for: *serve.Host.
type Host interface {
	Config() *config.Config // in force
	// EngineChanged hears that an engine answers, and that containers of an earlier host are ended; or
	// that it does not answer, and again when groups may leave it: conn is nil then.
	EngineChanged(ctx context.Context, name string, conn *docker.Engine)
}

// Options say what Engines work with. All are needed but Getenv.
type Options struct {
	Host   Host
	Getenv func(name string) string // names this machine's engine; nil: the process's environment
	Log    *slog.Logger
}

// Engines are the engines of one configuration. Its methods may be called concurrently.
type Engines struct {
	o   Options
	all []*engine // sorted by name

	mu     sync.Mutex
	db     *state.DB            // nil before Load, as owner is empty
	owner  string               // of the containers: docker.Runtime.Owner
	placed map[string]placement // by folder
	groups map[string]int       // how many are placed, by engine
}

// New returns the engines that c names, to none of which it connects.
func New(c *config.Config, o Options) *Engines {
	s := &Engines{o: o, placed: map[string]placement{}, groups: map[string]int{}}
	for _, name := range c.EngineNames() {
		s.all = append(s.all, newEngine(name))
	}
	return s
}

// Run looks after every engine until ctx is done: it connects, removes what could not be removed while
// the engine was away, and finds out that the engine does not answer any more.
func (s *Engines) Run(ctx context.Context) error {
	var each sync.WaitGroup
	for _, e := range s.all {
		each.Go(func() {
			for {
				s.look(ctx, e)
				pause := lookEvery
				if _, why := e.awaySince(); why != nil {
					pause = lookAgain
				}
				select {
				case <-ctx.Done():
					return
				case <-e.due:
				case <-time.After(pause):
				}
			}
		})
	}
	each.Wait()
	return nil
}

// LookHere looks at the engines of this machine, and returns when it has: they say what containers may
// use of its directories.
func (s *Engines) LookHere(ctx context.Context) {
	var each sync.WaitGroup
	for _, e := range s.all {
		if !s.o.Host.Config().Engines[e.name].Elsewhere() {
			each.Go(func() { s.look(ctx, e) })
		}
	}
	each.Wait()
}

// Look makes Run look at every engine now.
func (s *Engines) Look() {
	for _, e := range s.all {
		wake.Up(e.due)
	}
}

// look finds out whether an engine answers. While no group's assistant runs in a container, it does
// nothing.
func (s *Engines) look(ctx context.Context, e *engine) {
	e.looking.Lock()
	defer e.looking.Unlock()
	e.mu.Lock()
	conn := e.conn
	e.mu.Unlock()
	if conn == nil && len(s.o.Host.Config().InContainers()) == 0 {
		return
	}
	var err error
	if conn == nil {
		conn, err = s.connect(ctx, e)
	} else {
		err = conn.Ping(ctx, pingTime)
	}
	if ctx.Err() != nil {
		if e.conn == nil && err == nil {
			_ = conn.Close() // nobody else has it
		}
		return
	}
	if e.note(conn, err) {
		if err != nil {
			s.o.Log.Error("assistants in containers are down until their engine answers", "engine", e.name, "error", err)
			conn = nil
		}
		s.o.Host.EngineChanged(ctx, e.name, conn)
	} else if e.isLeft() {
		s.o.Host.EngineChanged(ctx, e.name, nil)
	}
	if err == nil {
		conn.Sweep(ctx)
	}
}

// connect connects to an engine, and ends there the containers of an earlier host that was killed.
func (s *Engines) connect(ctx context.Context, e *engine) (*docker.Engine, error) {
	reaching, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	conn, err := Connect(reaching, s.o.Host.Config(), e.name, s.o.Getenv)
	if err != nil {
		return nil, err
	}
	facts := conn.Facts()
	log := s.o.Log.With("engine", facts.Name, "at", facts.Host)
	log.Info("container engine", "name", e.name, "rootless", facts.Rootless)
	if len(facts.Lacks) > 0 {
		log.Warn("container engine cannot limit everything", "limits", facts.Lacks)
	}
	reaping, cancel := context.WithTimeout(ctx, reapTime)
	defer cancel()
	var others []string // their containers are not an earlier host's, if two names are of one engine
	for _, other := range s.all {
		if other != e {
			others = append(others, other.name)
		}
	}
	left, err := conn.Reap(reaping, s.owner, others...)
	for _, folder := range left {
		log.Warn("container of an earlier host ended", "group", folder)
	}
	if err != nil { // the next start of the group tries again
		log.Error("containers of an earlier host", "error", err)
	}
	return conn, nil
}

// Start has start use the engine of that name for a group's container. The error is runtime.ErrAway if
// the engine does not answer, or stops to while start runs: the context of start ends then.
func (s *Engines) Start(ctx context.Context, name, folder string, start func(context.Context, *docker.Engine) (runtime.Session, error)) (session runtime.Session, err error) {
	e := s.named(name)
	if e == nil {
		return nil, fmt.Errorf("there is no container engine %q", name)
	}
	err = e.use(ctx, func(ctx context.Context, conn *docker.Engine) error {
		err := s.stay(ctx, folder, name)
		if err == nil {
			session, err = start(ctx, conn)
		}
		return err
	})
	return session, err
}

// Answering returns those of the named engines that answer.
func (s *Engines) Answering(names []string) (all []*docker.Engine) {
	for _, name := range names {
		if e := s.named(name); e != nil {
			if conn, _ := e.answers(); conn != nil {
				all = append(all, conn)
			}
		}
	}
	return all
}

// Away reports whether an engine that is needed does not answer.
func (s *Engines) Away() bool {
	return len(s.o.Host.Config().InContainers()) > 0 && slices.ContainsFunc(s.all, func(e *engine) bool {
		conn, _ := e.answers()
		return conn == nil
	})
}

// Findings implements finding.Source: each engine that does not answer, and what becomes of its groups.
func (s *Engines) Findings(context.Context) (all []finding.Finding) {
	if len(s.o.Host.Config().InContainers()) == 0 {
		return nil
	}
	for _, e := range s.all {
		since, why := e.awaySince()
		if why == nil {
			continue
		}
		f := Away(e.name, why)
		f.Since = since
		stay, left := s.groupsOf(e.name)
		if len(stay) > 0 {
			f.Cause += "; there are the workspaces of " + some(stay)
		}
		if len(left) > 0 {
			f.Cause += "; " + some(left) + " began anew on another engine, without the workspaces there"
		}
		all = append(all, f)
	}
	return all
}

// some names up to five groups, and counts the others.
func some(folders []string) string {
	slices.Sort(folders)
	const most = 5
	words := strings.Join(folders[:min(most, len(folders))], ", ")
	if more := len(folders) - most; more > 0 {
		words += fmt.Sprintf(" and %d more", more)
	}
	return words
}

// Close closes the connections. Containers continue to run.
func (s *Engines) Close() error {
	var errs []error
	for _, e := range s.all {
		e.mu.Lock()
		if e.conn != nil {
			errs = append(errs, e.conn.Close())
		}
		e.mu.Unlock()
	}
	return errors.Join(errs...)
}

func (s *Engines) named(name string) *engine {
	if i := slices.IndexFunc(s.all, func(e *engine) bool { return e.name == name }); i >= 0 {
		return s.all[i]
	}
	return nil
}

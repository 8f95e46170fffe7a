package engines

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/host/runtime/ssh"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/wake"
)

const (
	lookEvery   = time.Minute      // between two looks at an engine that answers
	lookAgain   = 15 * time.Second // at one that does not
	connectTime = time.Minute      // for one connection
	pingTime    = 10 * time.Second // for an answer
	reapTime    = 2 * time.Minute  // to end what an earlier host has left
)

// engine is one engine of the configuration.
type engine struct {
	name string
	due  chan struct{} // of capacity one: look at it now

	looking sync.Mutex    // one look at a time
	looked  chan struct{} // closed after the first look

	mu    sync.Mutex
	conn  *docker.Engine // nil: it has never answered
	why   error          // why it does not answer; nil: it does, or nobody has looked
	since time.Time      // of why
	left  bool           // the groups that may leave it were called to
	up    context.Context
	down  context.CancelCauseFunc // ends up
}

func newEngine(name string) *engine {
	return &engine{name: name, due: make(chan struct{}, 1), looked: make(chan struct{})}
}

// answers returns the connection if the engine answers. known is false before the first look.
func (e *engine) answers() (conn *docker.Engine, known bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.why == nil {
		conn = e.conn
	}
	return conn, conn != nil || e.why != nil
}

// awaySince returns since when and why the engine does not answer; a nil error: it does.
func (e *engine) awaySince() (time.Time, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.since, e.why
}

// note records the outcome of a look, and reports whether it differs from the last one in that the
// engine answers, or in the reason why not.
func (e *engine) note(conn *docker.Engine, why error) (changed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := e.conn == nil && e.why == nil
	changed = first || (why == nil) != (e.why == nil) || why != nil && why.Error() != e.why.Error()
	if why != nil && e.why == nil {
		if e.since = time.Now(); e.down != nil {
			e.down(fmt.Errorf("%w: %w", runtime.ErrAway, why))
		}
	}
	if e.why = why; why == nil && changed {
		e.left = false
		e.conn = conn
		e.up, e.down = context.WithCancelCause(context.Background())
	}
	if first {
		close(e.looked)
	}
	return changed
}

// isLeft reports, once, that the groups that may leave the engine can do so now.
func (e *engine) isLeft() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.why == nil || e.left || time.Since(e.since) <= moveAfter {
		return false
	}
	e.left = true
	return true
}

// use calls start with the connection, once somebody has looked at the engine. If the engine stops to
// answer meanwhile, the context of start ends.
func (e *engine) use(ctx context.Context, start func(context.Context, *docker.Engine) error) error {
	select {
	case <-e.looked:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	conn, _ := e.answers()
	if conn == nil {
		_, why := e.awaySince()
		return fmt.Errorf("%w: %w", runtime.ErrAway, why)
	}
	e.mu.Lock()
	up := e.up
	e.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(up, func() { cancel(context.Cause(up)) })()
	err := start(ctx, conn)
	if away := context.Cause(ctx); err != nil && errors.Is(away, runtime.ErrAway) {
		err = away
	}
	if errors.Is(err, runtime.ErrAway) {
		wake.Up(e.due)
	}
	return err
}

// Connect connects to the engine of that name. If the configuration names no engines, it finds this
// machine's as the docker command does. The caller closes the Engine.
func Connect(ctx context.Context, c *config.Config, name string, getenv func(string) string) (*docker.Engine, error) {
	e := c.Engines[name]
	if e.Elsewhere() {
		return docker.ConnectOver(ctx, ssh.Target(e.SSH), e.Socket)
	}
	var own []string
	for _, other := range c.Engines {
		if !other.Elsewhere() && other.Socket != "" {
			own = append(own, other.Socket)
		}
	}
	return docker.ConnectAt(ctx, getenv, e.Socket, own...)
}

// Part is an engine's name in findings.
func Part(name string) string { return strings.TrimSuffix("engine "+name, " ") }

// Away is the finding that an engine does not answer, because of err.
func Away(name string, err error) finding.Finding {
	remedy, words := "start the container engine, and make the host's user a member of its group", err.Error()
	if none, ok := errors.AsType[*docker.NoEngineError](err); ok {
		remedy = none.Hint()
	}
	if fault, ok := errors.AsType[*ssh.Fault](err); ok {
		remedy, words = fault.Remedy, strings.TrimSuffix(words, "; to do: "+fault.Remedy)
	}
	return finding.Finding{
		Name: string(cause.Engine), Part: Part(name), Severity: finding.Fault,
		Cause: fmt.Sprintf("the container %s does not answer: %s", Part(name), words), Remedy: remedy,
	}
}

package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/longshore-bridge/longshore/host/runtime"
)

const (
	// afterExit is how long the output of an ended container may be silent
	// before it counts as ended too.
	afterExit = 5 * time.Second

	// askAgain is the time between two requests to an engine that went away.
	askAgain = 500 * time.Millisecond

	// killTime is how long the engine may take to report the end of a killed
	// container.
	killTime = 30 * time.Second
)

// session is one container. Its goroutine run owns the connection, the log and
// the container.
type session struct {
	*runtime.Life
	engine  *Engine
	log     *slog.Logger
	grace   time.Duration
	awayMax time.Duration // how long to wait for an engine that went away
	memory  int64

	id       string
	stream   client.HijackedResponse
	exit     client.ContainerWaitResult
	stderr   io.WriteCloser
	isolated *isolated // nil: it shares directories

	ctx      context.Context // for calls that last as long as the container
	abandon  context.CancelFunc
	throttle *runtime.Throttle
	spent    int // bytes that the last Read returned
	exited   atomic.Bool
	away     bool // the engine was away for a while
}

func (r Runtime) newSession(spec runtime.Spec) (*session, error) {
	s := &session{
		Life: runtime.NewLife(), engine: r.Engine, log: r.Log.With("group", spec.Group.Folder), grace: r.Grace, awayMax: r.Away, memory: r.Memory,
		stderr: nopLog{},
	}
	s.ctx, s.abandon = context.WithCancel(context.Background())
	s.throttle = runtime.NewThrottle(s.ctx)
	if spec.LogDir != "" {
		log, err := runtime.OpenLog(spec.LogDir)
		if err != nil {
			return nil, err
		}
		s.stderr = log
	}
	return s, nil
}

// start creates the container, attaches to it and starts it.
func (s *session) start(ctx context.Context, r Runtime, spec runtime.Spec) (err error) {
	if r.Access != nil {
		if s.isolated, err = r.openIsolated(ctx, s, spec); err != nil {
			return err
		}
		r.accessDir = s.isolated.dir
		if s.isolated.model != "" {
			spec.Model = s.isolated.model
		}
	}
	if s.id, err = r.create(ctx, spec); err != nil {
		return err
	}
	if err := s.engine.prepare(ctx, s.id); err != nil {
		return cannotStart(err)
	}
	attached, err := s.engine.api.ContainerAttach(s.ctx, s.id, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return err
	}
	s.stream = attached.HijackedResponse
	if _, err = s.engine.api.ContainerStart(ctx, s.id, client.ContainerStartOptions{}); err != nil {
		return cannotStart(err)
	}
	// Only this session removes the container, so its end can be asked for at
	// any time.
	s.exit = s.engine.api.ContainerWait(s.ctx, s.id, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	return nil
}

// discard cleans up after a failed start.
func (s *session) discard() {
	if s.id != "" {
		s.removeSelf()
	}
	s.closeAll()
}

func (s *session) closeAll() {
	s.abandon()
	if s.stream.Conn != nil {
		s.stream.Close()
	}
	s.stderr.Close()
	if s.isolated != nil {
		s.isolated.end()
	}
}

// run feeds the container, reads its output until it has ended, and removes it.
func (s *session) run(input []byte) {
	defer s.End()
	defer s.closeAll()
	var helpers sync.WaitGroup
	feeding, fed := context.WithCancel(s.ctx)
	helpers.Go(func() { s.feed(feeding, input) }) // ends when the connection is closed, at the latest
	var stderr io.Writer = s.stderr
	if s.isolated != nil {
		stderr = s.isolated.LogTo(stderr)
	}
	parser := &runtime.Parser{Emit: s.Emit}
	heard := make(chan struct{})
	helpers.Go(func() {
		defer close(heard)
		defer s.Silence()
		// An error is the end of the connection; await finds out why the
		// container ended.
		stdcopy.StdCopy(parser, stderr, s)
		parser.Close()
	})
	exit, err := s.await()
	fed()
	s.exited.Store(true)
	s.throttle.End()
	s.stream.Conn.SetReadDeadline(time.Now().Add(afterExit))
	<-heard
	s.finish(exit, err, parser.Broken)
	s.stream.Close()
	helpers.Wait()
}

// Read reads the container's output as fast as the session's throttle allows. After the
// container's end it still reads the rest, however slowly the caller takes it.
func (s *session) Read(p []byte) (int, error) {
	s.throttle.Spend(s.spent) // the bytes of the last Read have been passed on
	if s.exited.Load() {
		s.stream.Conn.SetReadDeadline(time.Now().Add(afterExit))
	}
	n, err := s.stream.Reader.Read(p)
	s.spent = n
	if slow, ok := errors.AsType[net.Error](err); ok && slow.Timeout() {
		err = io.EOF
	}
	return n, err
}

// await waits for the container's end. If the engine goes away, its connections
// end, so await asks again until awayMax is over.
func (s *session) await() (exit container.WaitResponse, err error) {
	var away <-chan time.Time
	for lost := false; !lost; {
		select {
		case exit := <-s.exit.Result:
			return s.known(exit), nil
		case err = <-s.exit.Error:
		}
		if errdefs.IsNotFound(err) {
			return exit, fmt.Errorf("the container was removed from outside: %w", err)
		}
		if !s.away {
			s.away = true
			away = time.After(s.awayMax)
			s.log.Warn("the container engine went away", "error", err)
		}
		if s.ctx.Err() != nil || s.Stopped() && client.IsErrConnectionFailed(err) {
			break
		}
		select {
		case <-time.After(askAgain):
		case <-away:
			lost = true
		case <-s.ctx.Done():
		}
		s.exit = s.engine.api.ContainerWait(s.ctx, s.id, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	}
	return exit, fmt.Errorf("%w: %w", runtime.ErrLost, err)
}

// finish removes the container and records how it ended.
func (s *session) finish(exit container.WaitResponse, err error, broken int) {
	if broken > 0 {
		s.log.Warn("the assistant wrote broken outputs", "count", broken)
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), killTime)
		err = s.exitError(ctx, exit)
		cancel()
	}
	s.removeSelf()
	err = s.Conclude(err)
	if log, ok := s.stderr.(*runtime.Log); ok {
		log.Note("session ended: %v", err)
	}
}

func (s *session) removeSelf() {
	if err := s.engine.remove(context.Background(), s.id); err != nil {
		s.engine.remember(s.id)
		s.log.Warn("the container was not removed; the host will try again", "error", err)
	}
}

// Stop implements Session. It waits for the grace period itself, because Podman
// lets nobody kill a container while Podman waits for its end.
func (s *session) Stop(ctx context.Context) {
	s.Stopping()
	if s.endsBy(ctx, "SIGTERM", s.grace) {
		return
	}
	// The reader of the outputs still gets the last ones.
	if ctx.Err() == nil && s.endsBy(ctx, "SIGKILL", time.Second) {
		return
	}
	s.kill()
}

// endsBy sends the container a signal and reports whether the session ends in
// time.
func (s *session) endsBy(ctx context.Context, signal string, in time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, in)
	defer cancel()
	// An error, such as for a container that has already ended, shows below.
	s.engine.api.ContainerKill(ctx, s.id, client.ContainerKillOptions{Signal: signal})
	select {
	case <-s.Done():
		return true
	case <-ctx.Done():
		return false
	}
}

// kill ends the container in any state. Outputs that nobody has read are
// discarded.
func (s *session) kill() {
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	s.DiscardOutputs() // first: Podman reports a container's end only after its last output was read
	s.engine.api.ContainerKill(ctx, s.id, client.ContainerKillOptions{Signal: "SIGKILL"})
	select {
	case <-s.Done():
	case <-ctx.Done(): // the engine does not answer any more
		s.abandon()
		<-s.Done()
	}
}

// nopLog discards stderr.
type nopLog struct{}

func (nopLog) Write(p []byte) (int, error) { return len(p), nil }
func (nopLog) Close() error                { return nil }

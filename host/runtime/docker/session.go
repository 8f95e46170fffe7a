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
	// afterExit is how long the stream of a container that has ended may stay
	// silent before it is taken for ended too.
	afterExit = 5 * time.Second

	// askAgain is the time between two questions to an engine that went away.
	askAgain = 500 * time.Millisecond

	// killTime is how long the engine may take to report the end of a
	// container that was killed.
	killTime = 30 * time.Second
)

// session is one container. Its goroutine run owns the connection, the log and
// the container.
type session struct {
	*runtime.Life
	engine  *Engine
	log     *slog.Logger
	grace   time.Duration
	awayMax time.Duration // how long an engine that went away is waited for
	memory  int64

	id     string
	stream client.HijackedResponse
	exit   client.ContainerWaitResult
	stderr io.WriteCloser

	ctx     context.Context // of the calls that last as long as the container
	abandon context.CancelFunc
	pace    *runtime.Pace
	spent   int // bytes that the last Read brought
	exited  atomic.Bool
	away    bool // the engine went away for a while
}

func (r Runtime) newSession(spec runtime.Spec) (*session, error) {
	s := &session{
		Life: runtime.NewLife(), engine: r.Engine, log: r.Log.With("group", spec.Group.Folder), grace: r.Grace, awayMax: r.Away, memory: r.Memory,
		stderr: nopLog{},
	}
	s.ctx, s.abandon = context.WithCancel(context.Background())
	s.pace = runtime.NewPace(s.ctx)
	if spec.LogDir != "" {
		log, err := runtime.OpenLog(spec.LogDir)
		if err != nil {
			return nil, err
		}
		s.stderr = log
	}
	return s, nil
}

// start makes the container, listens to it and lets it go.
func (s *session) start(ctx context.Context, r Runtime, spec runtime.Spec) (err error) {
	if s.id, err = r.create(ctx, spec); err != nil {
		return err
	}
	if err := s.engine.prepare(ctx, s.id); err != nil {
		return err
	}
	attached, err := s.engine.api.ContainerAttach(s.ctx, s.id, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return err
	}
	s.stream = attached.HijackedResponse
	if _, err = s.engine.api.ContainerStart(ctx, s.id, client.ContainerStartOptions{}); err != nil {
		return err
	}
	// Nobody else removes the container, so its end is told however late one asks.
	s.exit = s.engine.api.ContainerWait(s.ctx, s.id, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	return nil
}

// discard clears up after a start that did not succeed.
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
}

// run feeds the container, listens until it has ended, and removes it.
func (s *session) run(input []byte) {
	defer s.End()
	defer s.closeAll()
	var helpers sync.WaitGroup
	helpers.Go(func() { // ends with the connection at the latest
		s.stream.Conn.Write(input)
		s.stream.CloseWrite()
	})
	parser := &runtime.Parser{Emit: s.Emit}
	heard := make(chan struct{})
	helpers.Go(func() {
		defer close(heard)
		defer s.Silence()
		// An error is the connection's end; why the container ended is asked for below.
		stdcopy.StdCopy(parser, s.stderr, s)
		parser.Close()
	})
	exit, err := s.await()
	s.exited.Store(true)
	s.pace.End()
	s.stream.Conn.SetReadDeadline(time.Now().Add(afterExit))
	<-heard
	s.finish(exit, err, parser.Broken)
	s.stream.Close()
	helpers.Wait()
}

// Read reads the container's output at the session's pace. Once the container
// has ended, what is on its way is still read, however slowly somebody takes it.
func (s *session) Read(p []byte) (int, error) {
	s.pace.Spend(s.spent) // what the last one brought was handed on
	if s.exited.Load() {
		s.stream.Conn.SetReadDeadline(time.Now().Add(afterExit))
	}
	n, err := s.stream.Reader.Read(p)
	s.spent = n
	var slow net.Error
	if errors.As(err, &slow) && slow.Timeout() {
		err = io.EOF
	}
	return n, err
}

// await waits for the container's end. An engine that goes away takes its
// connections with it, and is asked again for a while.
func (s *session) await() (exit container.WaitResponse, err error) {
	var patience <-chan time.Time
	for lost := false; !lost; {
		select {
		case exit := <-s.exit.Result:
			return s.known(exit), nil
		case err = <-s.exit.Error:
		}
		if errdefs.IsNotFound(err) {
			return exit, fmt.Errorf("somebody removed the container: %w", err)
		}
		if !s.away {
			s.away = true
			patience = time.After(s.awayMax)
			s.log.Warn("container engine went away", "error", err)
		}
		if s.ctx.Err() != nil || s.Stopped() && client.IsErrConnectionFailed(err) {
			break
		}
		select {
		case <-time.After(askAgain):
		case <-patience:
			lost = true
		case <-s.ctx.Done():
		}
		s.exit = s.engine.api.ContainerWait(s.ctx, s.id, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	}
	return exit, fmt.Errorf("%w: %w", runtime.ErrLost, err)
}

// finish removes the container and says how it ended.
func (s *session) finish(exit container.WaitResponse, err error, broken int) {
	if broken > 0 {
		s.log.Warn("assistant wrote broken outputs", "count", broken)
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), killTime)
		err = s.verdict(ctx, exit)
		cancel()
	}
	s.removeSelf()
	err = s.Verdict(err)
	if log, ok := s.stderr.(*runtime.Log); ok {
		log.Note("session ended: %v", err)
	}
}

func (s *session) removeSelf() {
	if err := s.engine.remove(context.Background(), s.id); err != nil {
		s.engine.remember(s.id)
		s.log.Warn("container not removed; it will be tried again", "error", err)
	}
}

// Stop implements Session. The grace is waited for here: while Podman itself
// waits for a container to stop, it lets nobody kill it.
func (s *session) Stop(ctx context.Context) {
	s.Stopping()
	if s.endsBy(ctx, "SIGTERM", s.grace) {
		return
	}
	// Whoever reads the last outputs gets them.
	if ctx.Err() == nil && s.endsBy(ctx, "SIGKILL", time.Second) {
		return
	}
	s.kill()
}

// endsBy sends the container a signal and says whether it ends in time.
func (s *session) endsBy(ctx context.Context, signal string, in time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, in)
	defer cancel()
	// One that has ended already, or an engine that went away, shows below.
	s.engine.api.ContainerKill(ctx, s.id, client.ContainerKillOptions{Signal: signal})
	select {
	case <-s.Done():
		return true
	case <-ctx.Done():
		return false
	}
}

// kill ends the container whatever the assistant is about, and what it said
// that nobody read is dropped.
func (s *session) kill() {
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	s.Drop() // first: Podman hears of a container's end after its last output
	s.engine.api.ContainerKill(ctx, s.id, client.ContainerKillOptions{Signal: "SIGKILL"})
	select {
	case <-s.Done():
	case <-ctx.Done(): // the engine says nothing any more
		s.abandon()
		<-s.Done()
	}
}

// nopLog drops stderr.
type nopLog struct{}

func (nopLog) Write(p []byte) (int, error) { return len(p), nil }
func (nopLog) Close() error                { return nil }

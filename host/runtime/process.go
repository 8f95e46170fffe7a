package runtime

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

// Process is the runtime that starts an assistant as a child process of the
// host, in a process group of its own, in the group's workspace. Its zero value
// is usable.
//
// The child sees the real directories and has the host's rights: it has no
// access to the host's environment, but to the host's files. When a session
// ends, every process left in its group is killed. On Linux, so is every
// process that moved to another group or session but still has the session's
// mark in its environment; a program that removes the mark escapes. If the host
// itself is killed, Linux kills the child too; the child's own processes are
// killed when the same group's next session starts.
type Process struct {
	Command []string      // the default command; empty: "run" of the agentrunner beside this executable, or of this executable
	Version string        // of this executable: another version's agentrunner is not run; empty: none is
	Path    string        // the child's PATH; empty: the host's
	Grace   time.Duration // between SIGTERM and SIGKILL; 0: 5 s
	Log     *slog.Logger  // nil: discard
}

var _ Runtime = Process{}

// Start starts the child. The error may contain host paths, so it is only for
// the operator.
func (p Process) Start(ctx context.Context, spec Spec) (Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := p.withDefaults(ctx, spec)
	if err != nil {
		return nil, err
	}
	if spec.Place > 0 {
		return nil, errors.New("assistants without a container cannot run at the same time")
	}
	s := &process{
		Life: NewLife(), id: uuid.NewString(), grace: p.Grace, log: p.Log.With("group", spec.Group.Folder),
	}
	if spec.IPC != "" {
		killMarked(markPrefix, envIPC+"="+spec.IPC)
	}
	if err := s.prepare(p, spec); err != nil {
		s.closeFiles()
		return nil, err
	}
	started := make(chan error, 1)
	go s.run(started)
	if err := <-started; err != nil {
		<-s.Done()
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			if _, missing := os.Stat(s.cmd.Path); missing == nil {
				err = fmt.Errorf("the program is there, but what runs it is not (the interpreter of its first line, or its loader): %w", err)
			}
			err = cause.With(cause.NotInstalled, err)
		}
		return nil, fmt.Errorf("start %s: %w", p.Command[0], err)
	}
	return s, nil
}

func (p Process) withDefaults(ctx context.Context, spec Spec) (Process, error) {
	if len(spec.Command) > 0 {
		p.Command = spec.Command
	}
	if len(p.Command) == 0 {
		program, err := runner(ctx, p.Version)
		if err != nil {
			return p, err
		}
		p.Command = append(program, "run")
	}
	p.Path = cmp.Or(p.Path, os.Getenv("PATH"))
	if p.Grace <= 0 {
		p.Grace = 5 * time.Second
	}
	p.Log = cmp.Or(p.Log, slog.New(slog.DiscardHandler))
	return p, nil
}

// process is one child. Its goroutine run owns the files and the child.
type process struct {
	*Life
	id    string
	cmd   *exec.Cmd
	grace time.Duration
	log   *slog.Logger

	stdout, stderr, stdoutW, stderrW *os.File
	stderrTo                         io.WriteCloser
	temp                             string // removed at the end; may be empty

	mu     sync.Mutex
	reaped bool // the process id may belong to another process now
}

func (s *process) prepare(p Process, spec Spec) (err error) {
	env, err := environment(p.Path, s.id, spec)
	if err != nil {
		return err
	}
	if err := s.makeTemp(spec.Temp); err != nil {
		return err
	}
	s.stderrTo = nopLog{}
	if spec.LogDir != "" {
		log, err := OpenLog(spec.LogDir)
		if err != nil {
			return err
		}
		s.stderrTo = log
	}
	if s.stdout, s.stdoutW, err = os.Pipe(); err != nil {
		return fmt.Errorf("make pipe: %w", err)
	}
	if s.stderr, s.stderrW, err = os.Pipe(); err != nil {
		return fmt.Errorf("make pipe: %w", err)
	}
	s.cmd = exec.Command(p.Command[0], p.Command[1:]...)
	s.cmd.Dir = spec.WorkDir
	s.cmd.Env = env
	s.cmd.Stdin = bytes.NewReader(spec.Input)
	s.cmd.Stdout, s.cmd.Stderr = s.stdoutW, s.stderrW
	s.cmd.SysProcAttr = childAttributes()
	s.cmd.WaitDelay = 2 * time.Second // for a stray process that keeps stdin open
	return nil
}

// makeTemp creates the directory for temporary files. It first removes what an
// earlier, killed session left there.
func (s *process) makeTemp(dir string) error {
	if dir == "" {
		return nil
	}
	if err := errors.Join(safefs.RemoveTree(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return fmt.Errorf("make directory for temporary files: %w", err)
	}
	s.temp = dir
	return nil
}

// run starts the child, waits for it and its pipes, and cleans up. It stays on
// its thread, because the kernel kills the child when the thread that started
// it ends.
func (s *process) run(started chan<- error) {
	defer s.End()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer s.closeFiles()

	keepDescriptors()
	err := s.cmd.Start()
	started <- err
	if err != nil {
		s.Conclude(err)
		return
	}
	s.stdoutW.Close()
	s.stderrW.Close()
	parser, throttle := &Parser{Emit: s.Emit}, NewThrottle(context.Background())
	var readers sync.WaitGroup
	readers.Go(func() {
		defer s.Silence()
		copyPipe(parser, s.stdout, throttle)
		parser.Close()
	})
	readers.Go(func() { copyPipe(s.stderrTo, s.stderr, throttle) })

	err = reap(s.cmd, s.killAll)
	// Nobody writes any more, so the pipes hold the rest of the output.
	throttle.End()
	now := time.Now()
	s.stdout.SetReadDeadline(now)
	s.stderr.SetReadDeadline(now)
	readers.Wait()
	s.finish(err, parser.Broken)
}

func (s *process) finish(err error, broken int) {
	if broken > 0 {
		s.log.Warn("the assistant wrote broken outputs", "count", broken)
	}
	err = s.Conclude(err)
	if l, ok := s.stderrTo.(*Log); ok {
		l.Note("session ended: %v", err)
	}
}

// killAll kills everything that is left of the session. If the system allows,
// the ended child is not collected yet, so its process id cannot belong to
// another process.
func (s *process) killAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reaped = true
	syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	killMarked(markPrefix + s.id)
}

func (s *process) signal(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reaped {
		syscall.Kill(-s.cmd.Process.Pid, sig)
	}
}

func (s *process) closeFiles() {
	for _, f := range []*os.File{s.stdout, s.stderr, s.stdoutW, s.stderrW} {
		if f != nil {
			f.Close()
		}
	}
	if s.stderrTo != nil {
		s.stderrTo.Close()
	}
	if s.temp == "" {
		return
	}
	if err := safefs.RemoveTree(s.temp); err != nil {
		s.log.Warn("cannot delete the assistant's temporary files before its next start", "error", err)
	}
}

// Stop implements Session.
func (s *process) Stop(ctx context.Context) {
	s.Stopping()
	s.signal(syscall.SIGTERM)
	select {
	case <-s.Done():
		return
	case <-time.After(s.grace):
	case <-ctx.Done():
	}
	s.signal(syscall.SIGKILL)
	s.DiscardOutputs()
	<-s.Done()
}

// The limits after the writer's end: how many bytes are still read, and how
// long to wait for an empty pipe that a stray process keeps open.
const (
	afterExitBytes = 1 << 20 // the largest pipe an unprivileged process can have
	afterExitWait  = 500 * time.Millisecond
)

// copyPipe copies through a throttle until the end of the pipe. A read deadline in the
// past means that the writer has ended: then copyPipe still copies what the
// pipe holds.
func copyPipe(to io.Writer, pipe *os.File, throttle *Throttle) {
	buf := make([]byte, 32<<10)
	exited, rest := false, afterExitBytes
	for rest > 0 {
		if exited {
			pipe.SetReadDeadline(time.Now().Add(afterExitWait))
		}
		n, err := pipe.Read(buf)
		to.Write(buf[:n])
		if exited {
			rest -= n
		}
		throttle.Spend(n)
		if err != nil {
			if exited || !errors.Is(err, os.ErrDeadlineExceeded) {
				return
			}
			exited = true
		}
	}
}

// nopLog discards stderr.
type nopLog struct{}

func (nopLog) Write(p []byte) (int, error) { return len(p), nil }
func (nopLog) Close() error                { return nil }

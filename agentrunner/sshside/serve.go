package sshside

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// The times that an assistant has to end.
const (
	StopGrace = 5 * time.Second  // after the host has asked for it
	LostGrace = 10 * time.Second // after the connection to the host has ended
)

// Serve runs one session of an assistant and returns its exit status. command starts the
// agent. Everything that Serve and the assistant have started has ended when it returns,
// except what left the assistant's process group. An error says why nothing was started.
func Serve(command []string, stdin io.Reader, stdout, stderr io.Writer) (status int, err error) {
	// Until the assistant starts, these signals must end the process. `longshore agentrunner`
	// has caught them.
	signal.Reset(syscall.SIGTERM, syscall.SIGINT)
	r := bufio.NewReader(stdin)
	first, err := read(r)
	if err != nil || first.Kind != KindBegin {
		return 1, errors.Join(errors.New("this is started by a host with runtime: ssh"), err)
	}
	p, err := open(first.Begin)
	if err != nil {
		return 1, fmt.Errorf("make the assistant's directories: %w", err)
	}
	defer func() { err = errors.Join(err, p.close()) }()
	s := &session{place: p, mark: first.Begin.Mark, log: &lines{to: stderr}, handed: map[string]bool{}, ended: make(chan struct{})}
	document, err := s.opening(r)
	if err != nil {
		return 1, fmt.Errorf("read the start document: %w", err)
	}
	return s.run(command, first.Begin, document, r, stdout)
}

// opening takes the files that come before the start document, and returns that.
func (s *session) opening(r *bufio.Reader) ([]byte, error) {
	for {
		f, err := read(r)
		if err != nil {
			return nil, err
		}
		if f.Kind == KindDocument {
			document := make([]byte, f.Size)
			_, err := io.ReadFull(r, document)
			return document, err
		}
		if err := s.accept(r, f); err != nil {
			return nil, err
		}
	}
}

// session is one assistant while it runs.
type session struct {
	*place
	mark  string
	log   *lines
	ended chan struct{} // closed when the assistant has ended

	mu     sync.Mutex
	handed map[string]bool // follow-ups that the assistant has not read yet
}

func (s *session) run(command []string, b *Begin, document []byte, r *bufio.Reader, stdout io.Writer) (int, error) {
	cmd := exec.Command(command[0], command[1:]...)
	var err error
	if cmd.Env, err = s.env(b); err != nil {
		return 1, err
	}
	cmd.Dir = s.workspace
	cmd.Stdout, cmd.Stderr = struct{ io.Writer }{stdout}, s.log // copied, so that no stray process holds the connection
	cmd.SysProcAttr, cmd.WaitDelay = &syscall.SysProcAttr{Setpgid: true}, 2*time.Second

	start, err := cmd.StdinPipe()
	if err != nil {
		return 1, err
	}
	// Before the start, so that no signal ends this process alone and leaves the assistant.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 1, fmt.Errorf("start the assistant: %w", err)
	}
	group := cmd.Process.Pid
	if err := s.recordHolder(group); err != nil {
		s.note("the assistant's process group is not noted: %v", err)
	}
	end, cancel := context.WithCancelCause(context.Background())
	var helpers sync.WaitGroup
	// Only now: if this session is killed before its note, the assistant reads no document and ends.
	helpers.Go(func() {
		_, _ = start.Write(document)
		_ = start.Close()
	})
	helpers.Go(func() { s.endGroup(end, group) })
	helpers.Go(s.watch)
	go func() { cancel(s.receive(r)) }() // ends with stdin at the latest when the process does
	helpers.Go(func() {
		select {
		case <-signals:
			cancel(errStop)
		case <-s.ended:
		}
	})
	err = cmd.Wait()
	_ = syscall.Kill(-group, syscall.SIGKILL)
	close(s.ended)
	helpers.Wait()
	s.log.flush()
	s.log.line(s.mark + " ended") // watch has named what was read
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1), nil
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return 1, fmt.Errorf("run the assistant: %w", err)
	}
	return 0, nil
}

// errStop says that the host, or a newer session, wants the assistant to end.
var errStop = errors.New("asked to end")

// receive takes frames until the host stops the assistant or the connection ends.
func (s *session) receive(r *bufio.Reader) error {
	for {
		f, err := read(r)
		if err == nil {
			err = s.accept(r, f)
		}
		if err != nil {
			return err
		}
	}
}

// accept takes one frame. What cannot be stored is noted; an error ends the session.
func (s *session) accept(r *bufio.Reader, f Frame) error {
	var failed, broken error
	switch f.Kind {
	case KindStop:
		return errStop
	case KindFile:
		failed, broken = take(r, f, func(content io.Reader) error { return s.putFile(f.Name, content) })
	case KindInput:
		failed, broken = take(r, f, func(content io.Reader) error { return s.hand(f.Name, content) })
	default:
		return fmt.Errorf("a second %s", f.Kind)
	}
	if failed != nil {
		s.note("%s %.200q not stored: %v", f.Kind, f.Name, failed)
	}
	return broken
}

func (s *session) hand(name string, content io.Reader) error {
	if err := s.putInput(name, content); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handed[name] = true
	return nil
}

// endGroup ends the assistant once ctx has: asked first, then killed.
func (s *session) endGroup(ctx context.Context, group int) {
	select {
	case <-s.ended:
		return
	case <-ctx.Done():
	}
	grace := LostGrace
	if errors.Is(context.Cause(ctx), errStop) {
		grace = StopGrace
	}
	_ = syscall.Kill(-group, syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(grace):
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
}

// lookEvery is how often the follow-ups are looked after that the assistant removes when it
// has read them.
const lookEvery = 100 * time.Millisecond

// watch tells the host which follow-ups the assistant has read.
func (s *session) watch() {
	tick := time.Tick(lookEvery)
	for over := false; !over; {
		select {
		case <-tick:
		case <-s.ended:
			over = true
		}
		s.mu.Lock()
		for name := range s.handed {
			if _, err := os.Lstat(filepath.Join(s.ipc("input"), name)); errors.Is(err, os.ErrNotExist) {
				delete(s.handed, name)
				s.log.line(s.mark + " taken " + name)
			}
		}
		s.mu.Unlock()
	}
}

func (s *session) note(format string, args ...any) { s.log.line(fmt.Sprintf(format, args...)) }

// lines passes whole lines on, so that those of several writers do not mix. A line that is
// too long is broken.
type lines struct {
	to io.Writer

	mu   sync.Mutex
	rest []byte
}

const maxLogLine = 64 << 10

// Write never fails: a log that nobody reads ends no assistant.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		n := bytes.IndexByte(l.rest, '\n') + 1
		if n == 0 && len(l.rest) < maxLogLine {
			return len(p), nil
		}
		if n == 0 {
			_, _ = l.to.Write(append(l.rest[:len(l.rest):len(l.rest)], '\n'))
			l.rest = nil
			return len(p), nil
		}
		_, _ = l.to.Write(l.rest[:n])
		l.rest = l.rest[n:]
	}
}

// line writes a line of its own.
func (l *lines) line(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = io.WriteString(l.to, text+"\n")
}

func (l *lines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) > 0 {
		_, _ = l.to.Write(append(l.rest, '\n'))
	}
	l.rest = nil
}

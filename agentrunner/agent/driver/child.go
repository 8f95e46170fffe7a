package driver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/internal/group"
	"github.com/longshore-bridge/longshore/internal/cause"
)

const (
	stopDelay    = 5 * time.Second // between SIGTERM and SIGKILL
	restDelay    = 2 * time.Second // time to read the rest of the pipe after the program has ended
	maxLine      = 16 << 20        // bytes of one event; a longer one is skipped
	maxStderr    = 16 << 10        // bytes kept of the program's log
	maxComplaint = 2 << 10         // bytes of one of its lines that are read
)

// child is one run of a program in a process group of its own.
type child struct {
	program string
	args    []string
	env     []string
	dir     string
	write   func(ctx context.Context, stdin io.WriteCloser) // must close stdin; ctx ends with the program

	complaint func(line string) // is called for each line of stderr; may be nil
}

// childError is a run that ended with an exit status other than zero.
type childError struct {
	err    error
	stderr string // the last part
}

func (e *childError) Unwrap() error { return e.err }

// exited reports whether the program ended by itself; otherwise a signal ended it.
func (e *childError) exited() bool {
	exit, ok := errors.AsType[*exec.ExitError](e.err)
	return ok && exit.Exited()
}

// Error shows the most useful line: the last one that contains "error", or else the
// last one.
func (e *childError) Error() string {
	var last, telling string
	for line := range strings.Lines(e.stderr) {
		if line = clean(line); line == "" {
			continue
		}
		last = line
		if strings.Contains(strings.ToLower(line), "error") {
			telling = line
		}
	}
	if telling == "" {
		telling = last
	}
	if telling == "" {
		return e.err.Error()
	}
	return fmt.Sprintf("%v: %q", e.err, telling)
}

// run starts the program, calls write for stdin and line for each line of stdout. It
// returns after the program and both streams have ended, and kills the rest of the
// process group. When ctx ends, the whole group gets SIGTERM, and SIGKILL after
// stopDelay.
func (c child) run(ctx context.Context, line func([]byte)) error {
	stdout, writer, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make pipe: %w", err)
	}
	defer stdout.Close()
	widen(writer) // only this end: a read end that Fd has touched would lose its deadlines
	stderr := &tail{line: c.complaint}
	cmd := exec.CommandContext(ctx, c.program, c.args...)
	cmd.Dir, cmd.Env = c.dir, append(c.env, "PWD="+c.dir) // opencode uses PWD
	cmd.Stdout, cmd.Stderr = writer, stderr
	cmd.Cancel = func() error { return group.Stop(cmd) }
	cmd.WaitDelay = stopDelay
	group.Own(cmd)
	stdin, err := cmd.StdinPipe() // Wait closes it at the latest
	if err == nil {
		err = cmd.Start()
	}
	writer.Close()
	if err != nil {
		return startError(c.program, err)
	}
	var streams sync.WaitGroup
	alive, ended := context.WithCancel(ctx)
	streams.Go(func() { c.write(alive, stdin) })
	streams.Go(func() { lines(stdout, line) })
	err = cmd.Wait()
	ended()
	// What is left of the group keeps the pipe open and would outlive the turn.
	group.Kill(cmd)
	_ = stdout.SetReadDeadline(time.Now().Add(restDelay))
	streams.Wait()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // the program succeeded, and a stray process kept stderr open
	}
	if err != nil {
		return &childError{err: err, stderr: string(stderr.kept)}
	}
	return nil
}

func startError(program string, err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return cause.With(cause.NotInstalled, fmt.Errorf("%s is not installed here: install it, or set LONGSHORE_AGENT_PROGRAM to its path", program))
	}
	return fmt.Errorf("start %s: %w", program, err)
}

// lines calls line for each line, without the newline. It skips a line that is too
// long, and ends at the reader's first error.
func lines(r io.Reader, line func([]byte)) {
	in := bufio.NewReaderSize(r, 64<<10)
	var kept []byte
	skip := false
	for {
		part, err := in.ReadSlice('\n')
		if len(kept)+len(part) > maxLine {
			kept, skip = nil, true
		}
		if !skip {
			kept = append(kept, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if !skip && len(kept) > 0 {
			line(kept)
		}
		kept, skip = kept[:0], false
		if err != nil {
			return
		}
	}
}

// tail keeps the last bytes written to it, and passes each line on.
type tail struct {
	kept []byte
	line func(string) // may be nil
	part []byte       // the beginning of a line
}

func (t *tail) Write(p []byte) (int, error) {
	t.pass(p)
	t.kept = append(t.kept, p[max(0, len(p)-maxStderr):]...)
	if over := len(t.kept) - maxStderr; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

// pass calls line for each line that p completes. Of a long line it passes the
// beginning.
func (t *tail) pass(p []byte) {
	for t.line != nil {
		end := bytes.IndexByte(p, '\n')
		piece := p
		if end >= 0 {
			piece = p[:end]
		}
		t.part = append(t.part, piece[:min(len(piece), max(0, maxComplaint-len(t.part)))]...)
		if end < 0 {
			return
		}
		t.line(string(t.part))
		t.part, p = t.part[:0], p[end+1:]
	}
}

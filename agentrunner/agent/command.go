package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/longshore-bridge/longshore/internal/cause"
)

// stopDelay is how long a program may run after SIGTERM.
const stopDelay = 5 * time.Second

// Command is an Agent that runs any program. Each turn starts the program with the
// prompt on stdin; its stdout is the answer. LONGSHORE_CONVERSATION holds the name
// of the session, which stays the same from turn to turn.
type Command struct {
	Args []string // the program and its arguments
	Dir  string   // working directory; empty: that of this process
}

// ParseCommand reads a program and its arguments from a JSON array.
func ParseCommand(array string) (Command, error) {
	var args []string
	if err := json.Unmarshal([]byte(array), &args); err != nil {
		return Command{}, fmt.Errorf("%q is not a JSON array of strings such as [\"prog\",\"arg\"]: %w", array, err)
	}
	if len(args) == 0 || args[0] == "" {
		return Command{}, fmt.Errorf("%q does not name a program", array)
	}
	return Command{Args: args}, nil
}

// Turn runs the program once. An exit status other than zero is an error that
// contains the last line of stderr.
func (c Command) Turn(ctx context.Context, t Turn) (Reply, error) {
	session := t.Session
	if session == "" {
		session = uuid.NewString()
	}
	stdout := &head{most: maxReply + 1}
	stderr := &tail{most: 4096}
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = append(append(os.Environ(), t.Env...), "LONGSHORE_CONVERSATION="+session)
	cmd.Stdin = strings.NewReader(t.Prompt)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopDelay
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return Reply{}, ctx.Err()
		}
		why := cause.Stopped
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			why = cause.NotInstalled
		}
		return Reply{}, cause.With(why, fmt.Errorf("run %s: %w%s", c.Args[0], err, stderr.lastLine()))
	}
	return Reply{Text: strings.TrimSpace(stdout.kept.String()), Session: session}, nil
}

// head keeps the first bytes written to it and discards the rest, so that a program
// that prints without end neither blocks nor fills the memory.
type head struct {
	kept bytes.Buffer // not embedded: its ReadFrom would keep everything
	most int
}

func (h *head) Write(p []byte) (int, error) {
	if room := h.most - h.kept.Len(); room > 0 {
		h.kept.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// tail keeps the last bytes written to it.
type tail struct {
	kept []byte
	most int
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p[max(0, len(p)-t.most):]...)
	if over := len(t.kept) - t.most; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

func (t *tail) lastLine() string {
	line := strings.TrimSpace(string(t.kept))
	line = line[strings.LastIndexByte(line, '\n')+1:]
	if line == "" {
		return ""
	}
	return fmt.Sprintf(": %q", line)
}

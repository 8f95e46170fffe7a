//go:build e2e

package driver_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/longshore-bridge/longshore/agentrunner/agent/modeltest"
)

// hearClaude is a world with Claude Code, and a chat that begins with "first".
func hearClaude(t *testing.T, script modeltest.Script) (*world, *chat) {
	t.Helper()
	w, c := newWorld(t, "claude", script), newChat("first")
	c.turn.Env = w.env()
	return w, c
}

// slow is a tool call that lasts until the file exists.
func slow(file string) modeltest.Answer {
	return modeltest.Answer{Text: "no such tool", Call: "Bash",
		Args: map[string]any{"command": "while ! [ -e " + file + " ]; do sleep 0.05; done", "description": "wait"}}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestRealClaudeHearsAFollowUpWhileAToolRuns(t *testing.T) {
	var w *world
	over := ""
	w, c := hearClaude(t, func(r modeltest.Request) modeltest.Answer {
		switch {
		case strings.Contains(r.Body, "/stop") && strings.Contains(r.Body, "take the other"):
			return modeltest.Answer{Text: "The other, then."}
		case len(r.Results) > 0:
			return modeltest.Answer{Text: "Here is the first."}
		}
		return slow(over)
	})
	over = filepath.Join(w.host.Root, "over")
	c.turn.Env = append(c.turn.Env, "LONGSHORE_RIGHTS=full")
	go func() {
		<-w.model.Arrived()
		c.writes("/stop @notes.txt")
		c.writes("take the other")
		touch(t, over)
	}()
	reply, err := w.agent.Turn(t.Context(), c.turn)
	if err != nil || reply.Text != "The other, then." || reply.Session == "" {
		t.Fatalf("reply %+v, error %v", reply, err)
	}
	c.was(t, "takes up /stop @notes.txt", "takes up take the other")
	if n := len(w.model.Requests()); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
	if !strings.Contains(w.log.String(), "input_tokens=200 cached_tokens=0 output_tokens=14") || strings.Count(w.log.String(), "turn ended") != 1 {
		t.Errorf("the operator is told %s", w.log)
	}
}

// TestRealClaudeAnswersWhatCameWithItsAnswer has the members write while the
// model makes its last words, into which nothing can come any more.
func TestRealClaudeAnswersWhatCameWithItsAnswer(t *testing.T) {
	asked, written := make(chan struct{}), make(chan struct{})
	w, c := hearClaude(t, func(r modeltest.Request) modeltest.Answer {
		if strings.Contains(r.Prompt, "second") {
			return modeltest.Answer{Text: "Answer to the second."}
		}
		close(asked)
		<-written
		return modeltest.Answer{Text: "Answer to the first."}
	})
	go func() {
		<-asked
		c.writes("second")
		close(written)
	}()
	reply, err := w.agent.Turn(t.Context(), c.turn)
	if err != nil || reply.Text != "Answer to the second." {
		t.Fatalf("reply %+v, error %v", reply, err)
	}
	c.was(t, "says Answer to the first.", "takes up second")
	if !strings.Contains(w.log.String(), "input_tokens=200 cached_tokens=0 output_tokens=14") {
		t.Errorf("the operator is told %s", w.log)
	}
	w.model.Script(func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: "Aye."} })
	w.log.Reset()
	again, err := w.turn(t.Context(), "third", reply.Session)
	if err != nil || again.Text != "Aye." {
		t.Fatalf("reply %+v, error %v", again, err)
	}
	requests := w.model.Requests()
	last := requests[len(requests)-1].Body
	for _, words := range []string{"first", "Answer to the first.", "second", "Answer to the second.", "third"} {
		if n := strings.Count(last, `"`+words+`"`); n != 1 {
			t.Errorf("%q is %d times in the conversation", words, n)
		}
	}
}

// TestRealClaudeKilledWithAFollowUp dies once before and once after it has
// taken the follow-up up.
func TestRealClaudeKilledWithAFollowUp(t *testing.T) {
	for _, taken := range []bool{false, true} {
		over, kill := "", make(chan struct{})
		w, c := hearClaude(t, func(r modeltest.Request) modeltest.Answer {
			if len(r.Results) == 0 {
				return slow(over)
			}
			close(kill)
			return modeltest.Answer{Hang: true}
		})
		over = filepath.Join(w.host.Root, "over")
		c.turn.Env = append(c.turn.Env, "LONGSHORE_RIGHTS=full")
		go func() {
			<-w.model.Arrived()
			c.writes("stop")
			if taken {
				touch(t, over)
				<-kill
			}
			killed(t, w.mark)
		}()
		_, err := w.agent.Turn(t.Context(), c.turn)
		if err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("got %v", err)
		}
		if taken {
			c.was(t, "takes up stop")
		} else {
			c.was(t)
		}
		gone(t, w.mark)
	}
}

func TestRealClaudeIsStoppedWhileItListens(t *testing.T) {
	w, c := hearClaude(t, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Hang: true} })
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-w.model.Arrived()
		c.writes("stop")
		cancel()
	}()
	if _, err := w.agent.Turn(ctx, c.turn); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	c.was(t)
	gone(t, w.mark)
}

// killed kills what has the mark.
func killed(t *testing.T, mark string) {
	t.Helper()
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range all {
		env, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(env), mark) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Error(err)
		}
	}
}

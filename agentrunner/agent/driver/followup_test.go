package driver_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
)

// chat is the other side of one turn: it offers follow-ups, and notes in order
// which were taken up and what was answered.
type chat struct {
	followUps chan agent.FollowUp
	turn      agent.Turn

	mu    sync.Mutex
	notes []string
}

func newChat(prompt string) *chat {
	c := &chat{followUps: make(chan agent.FollowUp)}
	c.turn = agent.Turn{Prompt: prompt, FollowUps: c.followUps, Say: func(r agent.Reply) error {
		c.note("says " + r.Text)
		return nil
	}}
	return c
}

func (c *chat) note(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notes = append(c.notes, what)
}

// writes returns once the turn has read the text.
func (c *chat) writes(text string) {
	c.followUps <- agent.FollowUp{Text: text, Taken: func() error { c.note("takes up " + text); return nil }}
}

func (c *chat) was(t *testing.T, want ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if diff := cmp.Diff(want, c.notes); diff != "" {
		t.Errorf("what the chat saw (-want +got):\n%s", diff)
	}
}

// TestAnswerThatFailsLeavesWhatIsOpen has a CLI that would go on with the next
// message after an error.
func TestAnswerThatFailsLeavesWhatIsOpen(t *testing.T) {
	d, _, _ := pretend(t, "claude", `read -r first; read -r second
echo '{"type":"result","is_error":true,"result":"API Error: 500","session_id":"s"}'; sleep 600`)
	c := newChat("first")
	go c.writes("second")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := d.Turn(ctx, c.turn); err == nil || err.Error() != "claude: API Error: 500" {
		t.Errorf("got %v", err)
	}
	c.was(t)
}

// TestCLIEndsOnceNothingIsOpen: its stdin is closed with its answer.
func TestCLIEndsOnceNothingIsOpen(t *testing.T) {
	d, dir, _ := pretend(t, "claude", `read -r first; echo '{"type":"result","result":"Done.","session_id":"s"}'; cat >rest`)
	reply, err := d.Turn(t.Context(), newChat("first").turn)
	if rest := read(t, dir, "rest"); err != nil || reply.Text != "Done." || rest != "" {
		t.Errorf("reply %+v, error %v, and it is told %q", reply, err, rest)
	}
}

// TestAnswersOfABackgroundTaskAreApart: the CLI answers, waits for what it has
// left running, and answers again.
func TestAnswersOfABackgroundTaskAreApart(t *testing.T) {
	d, _, log := pretend(t, "claude", `read -r first
echo '{"type":"result","result":"Begun.","session_id":"s","total_cost_usd":0.1,"usage":{"input_tokens":3}}'
echo '{"type":"result","result":"Finished.","session_id":"s","total_cost_usd":0.3,"usage":{"input_tokens":4}}'`)
	c := newChat("first")
	reply, err := d.Turn(t.Context(), c.turn)
	if err != nil || reply.Text != "Finished." {
		t.Errorf("reply %+v, error %v", reply, err)
	}
	c.was(t, "says Begun.")
	if !strings.Contains(log.String(), "input_tokens=7 cached_tokens=0 output_tokens=0 cost_usd=0.3") {
		t.Errorf("the operator is told %s", log)
	}
}

// TestAnswerThatCannotBeToldEndsTheTurn, and so does a follow-up that cannot
// be taken from the queue.
func TestAnswerThatCannotBeToldEndsTheTurn(t *testing.T) {
	d, _, _ := pretend(t, "claude", `read -r first; read -r second
id=${second#*uuid\":\"}; echo "{\"type\":\"user\",\"isReplay\":true,\"uuid\":\"${id%%\"*}\"}"; sleep 600`)
	c := newChat("first")
	go func() {
		c.followUps <- agent.FollowUp{Text: "second", Taken: func() error { return errors.New("read-only") }}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := d.Turn(ctx, c.turn); err == nil || err.Error() != "read-only" {
		t.Errorf("got %v", err)
	}
}

package agent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
	"github.com/longshore-bridge/longshore/agentrunner/internal/fakehost"
)

// listener is an agent whose turns the test plays.
type listener struct {
	turns   chan agent.Turn
	replies chan agent.Reply // ends the turn; without a text it fails
}

func (l *listener) Turn(ctx context.Context, t agent.Turn) (agent.Reply, error) {
	l.turns <- t
	select {
	case r := <-l.replies:
		if r.Text == "" {
			return r, errors.New("killed")
		}
		return r, nil
	case <-ctx.Done():
		return agent.Reply{}, ctx.Err()
	}
}

func listen(t *testing.T) (l *listener, c *conversation, turn agent.Turn) {
	l = &listener{turns: make(chan agent.Turn, 1), replies: make(chan agent.Reply)}
	c = converse(t, l, fakehost.New(t, nil), start)
	return l, c, <-l.turns
}

// lie names what lies in input/.
func (c *conversation) lie(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(c.host.IPC, "input"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func answered(t *testing.T, c *conversation, text string, inputs ...any) {
	t.Helper()
	got := c.next(t)
	if diff := cmp.Diff(append([]any{text}, inputs...), append([]any{got["result"]}, got["inputs"].([]any)...)); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestFollowUpThatATurnTakesUpIsAnsweredByIt(t *testing.T) {
	l, c, turn := listen(t)
	c.followUp(t, "0.json", "  ") // says nothing, and is no reason to wait
	c.followUp(t, "1.json", "stop")
	f := <-turn.FollowUps
	if diff := cmp.Diff([]string{"0.json", "1.json"}, c.lie(t)); diff != "" || f.Text != "stop" {
		t.Errorf("offered %q, and before it is taken up there lie (-want +got):\n%s", f.Text, diff)
	}
	if err := f.Taken(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0.json"}, c.lie(t)); diff != "" {
		t.Errorf("afterwards (-want +got):\n%s", diff)
	}
	l.replies <- agent.Reply{Text: "stopped"}
	answered(t, c, "stopped", "1.json")
	c.close(t)
	if err := c.wait(t); err != nil {
		t.Error(err)
	}
	if len(c.lie(t)) > 0 || len(l.turns) > 0 {
		t.Error("it was not the last turn, or something is left")
	}
}

func TestFollowUpThatATurnOnlyHearsStaysForTheNext(t *testing.T) {
	l, c, turn := listen(t)
	c.followUp(t, "1.json", "stop")
	<-turn.FollowUps
	c.followUp(t, "2.json", "and the other")
	f := <-turn.FollowUps
	if err := f.Taken(); err != nil {
		t.Fatal(err)
	}
	l.replies <- agent.Reply{Text: "done"}
	answered(t, c, "done", "2.json")
	if second := <-l.turns; second.Prompt != "stop" {
		t.Errorf("next prompt %q", second.Prompt)
	}
	l.replies <- agent.Reply{Text: "stopped"}
	answered(t, c, "stopped", "1.json")
}

func TestAnswerBeforeTheLastNamesWhatItAnswers(t *testing.T) {
	l, c, turn := listen(t)
	c.followUp(t, "1.json", "stop")
	f := <-turn.FollowUps
	said := make(chan error, 1)
	go func() { said <- turn.Say(agent.Reply{Text: "first answer", Session: "s-1"}) }()
	answered(t, c, "first answer")
	if err := errors.Join(<-said, f.Taken()); err != nil {
		t.Fatal(err)
	}
	l.replies <- agent.Reply{Text: "stopped"}
	answered(t, c, "stopped", "1.json")
}

func TestFailedTurnLeavesWhatItDidNotTakeUp(t *testing.T) {
	l, c, turn := listen(t)
	c.followUp(t, "1.json", "stop")
	<-turn.FollowUps
	l.replies <- agent.Reply{}
	if got := c.next(t); got["status"] != "error" {
		t.Errorf("output %v", got)
	}
	if err := c.wait(t); err == nil {
		t.Error("the run ends as if nothing had happened")
	}
	if diff := cmp.Diff([]string{"1.json"}, c.lie(t)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// What comes after the close mark is for the next run; what came before it has
// still a place in this turn.
func TestCloseMarkDuringATurn(t *testing.T) {
	l, c, turn := listen(t)
	c.followUp(t, "1.json", "stop")
	c.close(t)
	f := <-turn.FollowUps
	if err := f.Taken(); err != nil {
		t.Fatal(err)
	}
	l.replies <- agent.Reply{Text: "stopped"}
	answered(t, c, "stopped", "1.json")
	if err := c.wait(t); err != nil || len(c.lie(t)) > 0 {
		t.Errorf("left %v, error %v", c.lie(t), err)
	}
}

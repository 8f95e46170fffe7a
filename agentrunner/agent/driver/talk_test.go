package driver

import (
	"testing"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
)

// TestTalkIsOverWhenNothingIsOpen plays the two orders in which an answer and a
// follow-up can meet.
func TestTalkIsOverWhenNothingIsOpen(t *testing.T) {
	said := 0
	turn := agent.Turn{Say: func(agent.Reply) error { said++; return nil }}
	answered := func(n int) *answer { return &answer{answers: n, done: true, text: "x"} }

	late := newTalk(claude{}, turn, func() {})
	a := answered(1)
	late.hear(answer{}, a)
	if late.begin("1", agent.FollowUp{}) || said != 0 || !a.done {
		t.Error("a follow-up is written after the answer that ended the turn")
	}

	taken := false
	early := newTalk(claude{}, turn, func() { t.Error("the CLI was ended") })
	if !early.begin("1", agent.FollowUp{Taken: func() error { taken = true; return nil }}) {
		t.Error("a follow-up is not written before the answer")
	}
	a = answered(1)
	early.hear(answer{}, a)
	if said != 1 || a.done || taken || early.done {
		t.Errorf("with a follow-up open, %d answers are told; done %v", said, a.done)
	}
	early.hear(answer{answers: 1}, &answer{answers: 1, taken: "of somebody else"})
	early.hear(answer{answers: 1}, &answer{answers: 1, taken: "1"})
	early.hear(answer{answers: 1, taken: "1"}, answered(2))
	if said != 1 || !taken || !early.done {
		t.Errorf("with nothing open, %d answers are told; taken up %v", said, taken)
	}
}

package turns_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// vote is what a member did that may answer a question, and who that was.
type vote struct {
	in    channel.Inbound
	voter string
}

// A member answered a question with "1": the assistant's tool reads it, and it would
// have started a turn besides.
func TestAnAnswerToAQuestionIsNoMessageToTheAssistant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waited, failing := true, false
		var seen []vote
		w := newWorld(t, func(o *options) {
			o.Vote = func(_ context.Context, in channel.Inbound, voter string) (string, []string, bool, error) {
				if failing {
					return "", nil, false, errors.New("the disk is slow")
				}
				seen = append(seen, vote{in, voter})
				if in.Text != "1" && in.Kind != channel.KindVote {
					return "", nil, false, nil
				}
				return "Q", []string{"Monday"}, waited, nil
			}
		})
		w.run()
		w.does(channel.Inbound{From: "Ann", Sender: "a", ID: "1", Text: "1"})
		if w.runtime.next() != nil || w.kept("family") != 0 {
			t.Fatal("an answer for which a tool waits started a turn, or is kept")
		}
		if len(seen) != 1 || seen[0].voter == "" || seen[0].voter == "a" {
			t.Errorf("voted as %+v", seen)
		}
		// Nobody waits any more: the assistant hears of it once, as of any vote.
		waited = false
		w.does(channel.Inbound{From: "Ann", Sender: "a", ID: "2", Text: "1"})
		w.does(channel.Inbound{From: "Ann", Sender: "a", ID: "2", Text: "1"})
		if w.runtime.next() != nil {
			t.Fatal("a late answer started a turn")
		}
		w.does(channel.Inbound{From: "Ann", Sender: "a", ID: "3", Text: "so?"})
		prompt := w.runtime.next().input.Prompt
		if strings.Count(prompt, `message="Q">Monday</event>`) != 1 || !strings.Contains(prompt, ">so?</message>") {
			t.Errorf("the prompt is %s", prompt)
		}
		failing = true
		if err := w.m.Receive(t.Context(), "family", channel.Inbound{Chat: "web:family", ID: "4", Sender: "a", Text: "1"}); err == nil {
			t.Error("an answer that could not be recorded was taken")
		}
	})
}

func TestWhoMayNotSpeakAnswersNoQuestionAndFilesAreNoAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := group("family")
		g.Members.Speak = groups.Who{"U01"}
		g.Events = groups.EventOff
		var seen []vote
		w := newWorld(t, func(o *options) {
			o.Vote = func(_ context.Context, in channel.Inbound, voter string) (string, []string, bool, error) {
				seen = append(seen, vote{in, voter})
				return "Q", nil, true, nil
			}
		}, g)
		w.run()
		w.does(channel.Inbound{From: "Eve", Sender: "U02", Text: "1"})
		w.does(channel.Inbound{From: "Eve", Sender: "U02", Kind: channel.KindVote, Target: "Q", Choices: []string{"x"}})
		w.does(channel.Inbound{From: "Ann", Sender: "U01", ID: "f", Forwarded: true, Text: "1"})
		if len(seen) != 0 {
			t.Errorf("voted: %+v", seen)
		}
		w.does(channel.Inbound{From: "Ann", Sender: "U01", Kind: channel.KindVote, Target: "Q", Choices: []string{"x"}})
		if len(seen) != 1 { // also where events are off
			t.Errorf("voted: %+v", seen)
		}
	})
}

// WhatsApp's polls never close: a vote after the question's end went into the next turn.
func TestAVoteThatDoesNotCountIsNotHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *options) {
			o.Vote = func(context.Context, channel.Inbound, string) (string, []string, bool, error) {
				return "", nil, false, nil
			}
		})
		w.run()
		w.does(channel.Inbound{From: "Ann", Sender: "a", ID: "1", Kind: channel.KindVote, Target: "Q", Choices: []string{"Monday"}})
		w.does(channel.Inbound{From: "Ann", Sender: "a", ID: "2", Text: "so?"})
		if prompt := w.runtime.next().input.Prompt; strings.Contains(prompt, "Monday") || !strings.Contains(prompt, ">so?</message>") {
			t.Errorf("the prompt is %s", prompt)
		}
	})
}

package whatsapp_test

import (
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
)

func question(chat groups.JID, several bool, choices ...string) channel.Message {
	return channel.Message{ID: newID(), Chat: chat, Text: "When do we sail?", Poll: &channel.Poll{Choices: choices, Several: several}}
}

// isVote reports whether what came in is that vote on the poll.
func isVote(t *testing.T, in channel.Inbound, poll string, choices ...string) {
	t.Helper()
	if in.Kind != channel.KindVote || in.Target != poll || !slices.Equal(in.Choices, choices) || in.Sender == "" || in.Text != "" {
		t.Errorf("came in %+v, want a vote for %q in %s", in, choices, poll)
	}
}

// vote is Anna's vote as her app makes it, on what she received.
func (w *world) vote(info types.MessageInfo, choices ...string) *waE2E.Message {
	w.t.Helper()
	m, err := w.anna.Client.BuildPollVote(soon(w.t), &info, choices)
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

func TestAVoteAfterARestartCounts(t *testing.T) {
	w := newWorld(t).run()
	m := question(family, false, "yes", "no")
	asked := w.send(m)
	e := w.seen(family, 1)[0]
	w.restart()
	if again := w.send(m); again.ID != asked.ID {
		t.Errorf("the question was asked again, as %s", again.ID)
	}
	w.says(family, w.vote(e.Info, "no"))
	isVote(t, w.received(1)[0], asked.ID, "no")

	quote := quoting(asked.ID, w.bot.JID(), "made up")
	w.says(family, quote)
	if q := w.received(2)[1].Quote; q == nil || !q.Own || q.Text != m.Text {
		t.Errorf("a member's answer to the question quotes %+v", q)
	}
}

// Nobody votes in another chat, without the question's secret, for what was not
// offered, or for more than one choice of a question that takes one.
func TestAVoteThatTheQuestionDoesNotAllowIsIgnored(t *testing.T) {
	w := newWorld(t).run()
	asked := w.send(question(family, false, "yes", "no"))
	words := w.send(text(family, "no question"))
	e := w.seen(family, 2)[0]
	w.says(family, w.vote(e.Info, "perhaps"))
	w.says(family, w.vote(e.Info, "yes", "no"))
	w.says(work, w.vote(e.Info, "yes"))
	aboutWords := w.vote(e.Info, "yes")
	aboutWords.PollUpdateMessage.PollCreationMessageKey.ID = &words.ID
	w.says(family, aboutWords)
	forged, err := w.anna.Client.EncryptPollVote(soon(t), &e.Info, &waE2E.PollVoteMessage{SelectedOptions: [][]byte{hashOf("yes")}})
	if err != nil {
		t.Fatal(err)
	}
	forged.Vote.EncPayload[0] ^= 1
	w.says(family, &waE2E.Message{PollUpdateMessage: forged})
	for _, iv := range [][]byte{nil, {1}, make([]byte, 13)} {
		odd := w.vote(e.Info, "yes")
		odd.PollUpdateMessage.Vote.EncIV = iv
		w.says(family, odd)
	}
	w.says(family, &waE2E.Message{PollUpdateMessage: &waE2E.PollUpdateMessage{}})
	w.says(family, w.vote(e.Info, "yes"))
	got := w.received(1)
	isVote(t, got[0], asked.ID, "yes")
	w.says(work, plain("later"))
	if got := w.received(2); len(got) != 2 || got[1].Text != "later" {
		t.Errorf("%+v came in", got)
	}
}

func hashOf(s string) []byte { h := sha256.Sum256([]byte(s)); return h[:] }

func TestAPollThatTheAppsWouldNotShowIsPermanent(t *testing.T) {
	w := newWorld(t).run()
	limits := whatsapp.DefaultLimits().Poll
	many := strings.Split(strings.Repeat("x,", limits.Choices), ",")
	for i := range many {
		many[i] = strings.Repeat("é", i+1)
	}
	long := question(family, false, "a", "b")
	long.Text = strings.Repeat("é", limits.Question+1)
	for name, m := range map[string]channel.Message{
		"one choice": question(family, false, "a"), "too many": question(family, false, many...), "empty": question(family, false, "a", ""),
		"long choice": question(family, false, "a", strings.Repeat("é", limits.Choice+1)), "long question": long,
	} {
		_, err := w.ch.Send(soon(t), m)
		var e *channel.Error
		if !errors.As(err, &e) || e.Class != channel.Permanent || e.Code != "poll_not_taken" {
			t.Errorf("%s: %v", name, err)
		}
	}
	most := question(family, true, many[:limits.Choices]...)
	w.send(most)
	var names []string
	for _, o := range w.seen(family, 1)[0].Message.GetPollCreationMessage().GetOptions() {
		names = append(names, o.GetOptionName())
	}
	if diff := cmp.Diff(most.Poll.Choices, names); diff != "" {
		t.Error(diff)
	}
}

// A modified app can vote for ever on a question that was deleted.
func TestAVoteOnADeletedQuestionIsIgnored(t *testing.T) {
	w := newWorld(t).run()
	asked := w.send(question(family, false, "yes", "no"))
	e := w.seen(family, 1)[0]
	w.says(family, w.vote(e.Info, "yes"))
	isVote(t, w.received(1)[0], asked.ID, "yes")
	made(t, w.ch.Unsend(soon(t), channel.Change{ID: newID(), Chat: family, Target: asked.ID}))
	w.quiet()
	w.restart()
	w.says(family, w.vote(e.Info, "no"))
	w.says(family, plain("later"))
	if got := w.received(1); got[0].Text != "later" {
		t.Errorf("%+v came in", got)
	}
	w.quiet()
}

// Members choose their names themselves, and know the question's secret.
func TestNobodyVotesAsSomebodyElse(t *testing.T) {
	for _, lid := range []bool{false, true} {
		w := newWorld(t)
		bo := w.withBo("Anna", lid)
		w.run()
		asked := w.send(question(trio, false, "yes", "no"))
		e := w.seen(trio, 1)[0]
		annas := w.vote(e.Info, "yes")
		if _, err := bo.Send(soon(t), waJID(trio), annas); err != nil {
			t.Fatal(err)
		}
		if err := bo.CaughtUp(soon(t)); err != nil { // who has not seen a question has no key to vote
			t.Fatal(err)
		}
		bos, err := bo.Client.BuildPollVote(soon(t), &e.Info, []string{"no"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bo.Send(soon(t), waJID(trio), bos); err != nil {
			t.Fatal(err)
		}
		isVote(t, w.received(1)[0], asked.ID, "no") // Bo's own, and not what he sent of Anna's
		w.says(trio, annas)
		got := w.received(2)
		isVote(t, got[1], asked.ID, "yes")
		if got[0].Sender == got[1].Sender {
			t.Errorf("hidden ids %t: two members of one name vote as %q", lid, got[0].Sender)
		}
		w.quiet()
	}
}

// A device that could not decrypt a question asks for it again. It came as a text.
func TestAQuestionThatIsAskedForAgainIsAPoll(t *testing.T) {
	w := newWorld(t).run()
	w.send(text(family, "first"))
	w.seen(family, 1)
	w.anna.Disconnect()
	asked := w.send(question(family, false, "yes", "no"))
	if err := w.anna.WipeSessions(soon(t)); err != nil {
		t.Fatal(err)
	}
	if err := w.anna.Reconnect(soon(t)); err != nil {
		t.Fatal(err)
	}
	e := w.seen(family, 2)[1]
	if e.Info.ID != asked.ID || e.Info.Type != "poll" || len(e.Message.GetPollCreationMessage().GetOptions()) != 2 {
		t.Errorf("Anna got a %s: %v", e.Info.Type, e.Message)
	}
	w.quiet()
}

package telegram_test

import (
	"fmt"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
)

func voter(id int64) map[string]any {
	return map[string]any{"id": id, "is_bot": false, "first_name": "Eve"}
}

// asks sends a question, and returns its number.
func (w *world) asks(t *testing.T) int64 {
	t.Helper()
	m := text("Which?")
	m.Poll = &channel.Poll{Choices: []string{"Monday", "Tuesday"}}
	if _, err := w.ch.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	all := w.WaitFor(t, deskID, 1)
	return all[len(all)-1].ID
}

// TestAStrangersVoteOnAForwardedPollCounted: Telegram names no chat with a vote, and a poll
// can be forwarded to anybody. The host hears once for each question that one does not count.
func TestAStrangersVoteOnAForwardedPollCounted(t *testing.T) {
	w, in := newWorld(t), make(inbox, 10)
	w.runTo(t, in)
	asked := w.asks(t)
	for id := range int64(5) {
		w.Outside(1000 + id)
		w.Vote(asked, voter(1000+id), 0)
	}
	w.Vote(asked, ada, 1)
	if m := <-in; !m.Outside || len(m.Choices) > 0 || m.Sender != "" || m.Target != fmt.Sprint(asked) || m.Chat != desk {
		t.Errorf("the first vote of a stranger comes in as %+v", m)
	}
	if m := <-in; m.Outside || m.Sender != "77" || len(m.Choices) != 1 {
		t.Errorf("after the strangers' votes comes in %+v", m)
	}
}

// TestAVoterIsAskedAboutOnce, and not at all after a message in the chat. Who has left is
// asked about again.
func TestAVoterIsAskedAboutOnce(t *testing.T) {
	w, in := newWorld(t), make(inbox, 10)
	w.runTo(t, in)
	asked := w.asks(t)
	count := func(want int) {
		t.Helper()
		if n := w.Calls("getChatMember"); n != want {
			t.Errorf("Telegram was asked %d times, want %d", n, want)
		}
	}
	for range 3 {
		w.Vote(asked, voter(5), 0)
		<-in
	}
	count(1)
	w.Tell("message", deskID, map[string]any{"from": voter(6), "text": "hello"})
	<-in
	w.Vote(asked, voter(6), 0)
	<-in
	count(1)
	w.Outside(6)
	w.Tell("message", deskID, map[string]any{"from": ada, "left_chat_member": voter(6)})
	<-in
	w.Vote(asked, voter(6), 1)
	if m := <-in; !m.Outside {
		t.Errorf("who has left votes: %+v", m)
	}
	count(2)
}

// TestAVoteDoesNotCountIfTelegramDoesNotSayWhoIsThere, and strangers without end cost a
// bounded number of questions.
func TestAVoteDoesNotCountIfTelegramDoesNotSayWhoIsThere(t *testing.T) {
	w, in := newWorld(t), make(inbox, 10)
	w.HideMembers = true
	w.runTo(t, in)
	asked := w.asks(t)
	for id := range int64(200) {
		w.Vote(asked, voter(2000+id), 0)
	}
	if m := <-in; !m.Outside {
		t.Errorf("%+v", m)
	}
	w.Tell("message", deskID, map[string]any{"from": ada, "text": "hello"})
	if m := <-in; m.Text != "hello" {
		t.Errorf("%+v", m)
	}
	if n := w.Calls("getChatMember"); n < 60 || n >= 200 {
		t.Errorf("Telegram was asked %d times", n)
	}
}

// TestAFailedQuestionAboutAVoterLostTheVote: it is asked again.
func TestAFailedQuestionAboutAVoterLostTheVote(t *testing.T) {
	w, in := newWorld(t), make(inbox, 10)
	w.runTo(t, in)
	asked := w.asks(t)
	w.Next("getChatMember", telegramtest.Fault{Status: 502})
	w.Vote(asked, ada, 1)
	if m := <-in; m.Outside || len(m.Choices) != 1 {
		t.Errorf("%+v", m)
	}
}

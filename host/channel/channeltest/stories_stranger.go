package channeltest

import (
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
)

// strangerDoesNotCount has somebody who is not in the chat vote on a question, react to it
// and press its buttons. Nothing of it may count. Of a vote, the host may hear once that
// there was one.
func strangerDoesNotCount(t testing.TB, h Harness) {
	j := join(t, h)
	m := memory.Text(newID(), h.Chat, "Lunch?")
	if j.Limits().Poll.Choices > 0 {
		m.Poll = &channel.Poll{Choices: []string{"Pizza", "Soup"}}
	}
	_, reacts := j.Channel.(channel.Reactor)
	switch {
	case h.Stranger != nil:
	case m.Poll != nil || reacts:
		t.Fatal("a channel with polls or reactions has a Stranger in its Harness")
	default:
		return
	}
	r := j.send(m)
	h.Stranger(t, h.Chat, r.ID, "Pizza")
	for _, chat := range []groups.JID{h.Chat, h.Other} { // what comes before in either has come in then
		h.Say(t, chat, Said{From: "Ada", Text: "end"})
	}
	heard := 0
	for n, ends := 1, 0; ends < 2; n++ {
		got := j.received(n)[n-1]
		if got.Text == "end" {
			ends++
			continue
		}
		if got.Kind == channel.KindReaction && got.Chat != h.Chat {
			continue // it is of that other chat, whose member somebody may be
		}
		if heard++; !got.Outside || got.Kind != channel.KindVote || len(got.Choices) > 0 || heard > 1 {
			t.Fatalf("of a stranger came in %+v", got)
		}
	}
}

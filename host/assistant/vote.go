package assistant

import (
	"context"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// Vote is what a member did that may answer a question of an assistant.
type Vote struct {
	Chat    groups.Address
	Inbound channel.Inbound
	Voter   string // by which the assistant knows the member
}

// Counted is a vote that answers a question.
type Counted struct {
	Target  string // the platform's id of the question
	Choices []string
	Waited  bool // whoever asked still waits for the answer, and reads it there
}

// vote takes what answers an assistant's question. The assistant reads it in the
// answer to its tool. If the tool has stopped waiting, the member's message becomes a
// note of what was chosen, as in becomes then. A vote that does not count, such as one
// after the question's end, is dropped: WhatsApp's polls never close. An error means that
// the channel is to bring it again.
func (m *Manager) vote(ctx context.Context, c *chat, g groups.Group, in *channel.Inbound) (done bool, err error) {
	if m.o.Vote == nil || in.Kind != channel.KindVote && (in.Kind != channel.KindMessage || in.Text == "" || len(in.Files) > 0 || in.Forwarded || in.Told != "" || in.Quote != nil && in.Quote.Elsewhere) {
		return false, nil
	}
	v := Vote{Chat: g.Address(), Inbound: *in, Voter: c.store.senderID(in.Sender)}
	if v.Inbound.Thread = in.Thread; m.threads(g) == 0 {
		v.Inbound.Thread = ""
	}
	if v.Voter == "" { // nobody vouches for who wrote it
		v.Voter = "name " + in.From
	}
	if v.Inbound.Time.IsZero() {
		v.Inbound.Time = time.Now()
	}
	counted, err := m.o.Vote(ctx, v)
	if err != nil || counted == nil {
		return err == nil && in.Kind == channel.KindVote, err // it came too late, or answers nothing
	}
	if counted.Waited {
		return true, nil
	}
	in.Kind, in.Target, in.Choices, in.Text, in.Quote = channel.KindVote, counted.Target, counted.Choices, "", nil
	return false, nil
}

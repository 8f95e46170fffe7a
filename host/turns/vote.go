package turns

import (
	"context"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// vote takes what answers an assistant's question; done says that nothing is left to do.
// The assistant reads the choice in the answer to its tool. If the tool has stopped waiting,
// vote makes in a note of the choice. A vote that does not count, such as one after the
// question's end, is dropped: WhatsApp's polls never close. After an error the channel
// delivers the message again.
func (m *Manager) vote(ctx context.Context, c *chat, g groups.Group, in *channel.Inbound) (done bool, err error) {
	if in.Kind != channel.KindVote && (in.Kind != channel.KindMessage || in.Text == "" || len(in.Files) > 0 || in.Forwarded || in.Told != "" || in.Quote != nil && in.Quote.Elsewhere) {
		return false, nil
	}
	vote, voter := *in, c.store.SenderID(in.Sender)
	if m.threads(g) == 0 {
		vote.Thread = ""
	}
	if voter == "" { // nobody vouches for who wrote it
		voter = "name " + in.From
	}
	if vote.Time.IsZero() {
		vote.Time = time.Now()
	}
	question, choices, waited, err := m.o.Chat.Vote(ctx, g.Address(), vote, voter)
	if err != nil || question == "" {
		return err == nil && in.Kind == channel.KindVote, err // it came too late, or answers nothing
	}
	if waited {
		return true, nil
	}
	in.Kind, in.Target, in.Choices, in.Text, in.Quote = channel.KindVote, question, choices, "", nil
	return false, nil
}

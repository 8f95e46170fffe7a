package whatsapp

import (
	"context"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/compose"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/directory"
)

// vote decrypts a member's vote. Its choices are those of our question, in the
// question's order; none: the member takes the vote back. counts is false if the vote
// is not on a question of ours in this chat, if the question was deleted, if the vote is
// not encrypted with the question's secret for this very member, or if it chooses what
// the question does not offer. Every member knows that secret: who votes is whom
// WhatsApp's server names as the sender, never what the vote says.
func (s *session) vote(ctx context.Context, chat groups.JID, e *events.Message) (choices []string, counts bool, err error) {
	update := e.Message.GetPollUpdateMessage()
	id := update.GetPollCreationMessageKey().GetID()
	asked, err := s.messages.FindSent(ctx, id)
	if err != nil {
		return nil, false, err
	}
	if asked == nil || asked.Chat != chat || asked.Message.GetPollCreationMessage() == nil {
		return nil, false, nil
	}
	deleted, err := s.messages.FindSent(ctx, compose.MessageID(unsendID(id)))
	if err != nil || deleted != nil && !deleted.Acked.IsZero() {
		return nil, false, err
	}
	secret := asked.Message.GetMessageContextInfo().GetMessageSecret()
	who := s.people.WithAlt(ctx, directory.NewMember(e.Info.Sender, e.Info.SenderAlt))
	for _, creator := range []types.JID{s.people.Me, s.people.LID} {
		for _, voter := range []types.JID{who.JID, who.Alt} {
			if plain := compose.OpenVote(update.GetVote(), secret, id, creator, voter); plain != nil {
				choices, counts = compose.Chosen(asked.Message.GetPollCreationMessage(), plain)
				return choices, counts, nil
			}
		}
	}
	return nil, false, nil
}

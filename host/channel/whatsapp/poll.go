package whatsapp

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"go.mau.fi/whatsmeow/util/gcmutil"
	"go.mau.fi/whatsmeow/util/hkdfutil"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// pollLimit is what WhatsApp's apps let a person write into a poll, in characters.
var pollLimit = media.PollLimit{Choices: 12, Choice: 100, Question: 255}

// checkPoll rejects a question that the apps would not show as a poll.
func checkPoll(m channel.Message, l media.Limits) error {
	n := len(m.Poll.Choices)
	long := func(c string) bool { return c == "" || l.Unit.Len(c) > l.Poll.Choice }
	if n >= 2 && n <= l.Poll.Choices && m.Text != "" && l.Unit.Len(m.Text) <= l.Poll.Question && !slices.ContainsFunc(m.Poll.Choices, long) {
		return nil
	}
	return &channel.Error{Class: channel.Permanent, Code: "poll_not_taken",
		Message: fmt.Sprintf("WhatsApp takes 2 to %d choices of up to %d characters, and a question of up to %d", l.Poll.Choices, l.Poll.Choice, l.Poll.Question),
		Hint:    "ask a shorter question, or ask it as a text"}
}

// pollMessage builds a poll, without its secret; info may be nil.
func pollMessage(question string, p *channel.Poll, info *waE2E.ContextInfo) *waE2E.Message {
	poll := &waE2E.PollCreationMessage{Name: &question, SelectableOptionsCount: proto.Uint32(0), ContextInfo: info} // 0: any number
	if !p.Several {
		poll.SelectableOptionsCount = proto.Uint32(1)
	}
	for _, c := range p.Choices {
		poll.Options = append(poll.Options, &waE2E.PollCreationMessage_Option{OptionName: &c})
	}
	return &waE2E.Message{PollCreationMessage: poll}
}

// vote decrypts a member's vote. Its choices are those of our question, in the
// question's order; none: the member takes the vote back. counts is false if the vote
// is not on a question of ours in this chat, if the question was deleted, if the vote is
// not encrypted with the question's secret for this very member, or if it chooses what
// the question does not offer. Every member knows that secret: who votes is whom
// WhatsApp's server names as the sender, never what the vote says.
func (s *session) vote(ctx context.Context, chat groups.JID, e *events.Message) (choices []string, counts bool, err error) {
	update := e.Message.GetPollUpdateMessage()
	id := update.GetPollCreationMessageKey().GetID()
	asked, err := s.ledger.sent(ctx, id)
	if err != nil {
		return nil, false, err
	}
	if asked == nil || asked.Chat != chat || asked.message.GetPollCreationMessage() == nil {
		return nil, false, nil
	}
	deleted, err := s.ledger.sent(ctx, messageID(unsendOf(id)))
	if err != nil || deleted != nil && !deleted.Acked.IsZero() {
		return nil, false, err
	}
	secret := asked.message.GetMessageContextInfo().GetMessageSecret()
	who := s.people.both(ctx, member{e.Info.Sender.ToNonAD(), e.Info.SenderAlt.ToNonAD()})
	for _, creator := range []types.JID{s.people.me, s.people.lid} {
		for _, voter := range []types.JID{who.jid, who.alt} {
			if plain := openVote(update.GetVote(), secret, id, creator, voter); plain != nil {
				choices, counts = chosen(asked.message.GetPollCreationMessage(), plain)
				return choices, counts, nil
			}
		}
	}
	return nil, false, nil
}

// openVote decrypts a vote as whatsmeow's DecryptPollVote does, which tries one
// address of each person only; nil if the vote is not one of voter's.
func openVote(v *waE2E.PollEncValue, secret []byte, id string, creator, voter types.JID) []byte {
	if creator.IsEmpty() || voter.IsEmpty() || len(v.GetEncIV()) != 12 {
		return nil
	}
	from := voter.ToNonAD().String()
	info := id + creator.ToNonAD().String() + from + string(whatsmeow.EncSecretPollVote)
	key := hkdfutil.SHA256(secret, nil, []byte(info), 32)
	plain, err := gcmutil.Decrypt(key, v.GetEncIV(), v.GetEncPayload(), []byte(id+"\x00"+from))
	if err != nil {
		return nil
	}
	return append([]byte{}, plain...) // an empty vote is not nil
}

// chosen returns the names of the choices, of which a vote holds the hashes.
func chosen(poll *waE2E.PollCreationMessage, plain []byte) (choices []string, ok bool) {
	var v waE2E.PollVoteMessage
	if err := proto.Unmarshal(plain, &v); err != nil {
		return nil, false
	}
	hashes := map[string]bool{}
	for _, h := range v.GetSelectedOptions() {
		hashes[string(h)] = true
	}
	for _, o := range poll.GetOptions() {
		if hash := sha256.Sum256([]byte(o.GetOptionName())); hashes[string(hash[:])] {
			choices = append(choices, o.GetOptionName())
		}
	}
	most := int(poll.GetSelectableOptionsCount())
	return choices, len(choices) == len(hashes) && (most == 0 || len(choices) <= most)
}

package compose

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/gcmutil"
	"go.mau.fi/whatsmeow/util/hkdfutil"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// PollLimit is what WhatsApp's apps take in a poll, in characters.
var PollLimit = media.PollLimit{Choices: 12, Choice: 100, Question: 255}

// CheckPoll rejects a question that the apps would not show as a poll.
func CheckPoll(m channel.Message, l media.Limits) error {
	n := len(m.Poll.Choices)
	long := func(c string) bool { return c == "" || l.Unit.Len(c) > l.Poll.Choice }
	if n >= 2 && n <= l.Poll.Choices && m.Text != "" && l.Unit.Len(m.Text) <= l.Poll.Question && !slices.ContainsFunc(m.Poll.Choices, long) {
		return nil
	}
	return &channel.Error{Class: channel.Permanent, Code: "poll_not_taken",
		Message: fmt.Sprintf("WhatsApp takes 2 to %d choices of up to %d characters, and a question of up to %d", l.Poll.Choices, l.Poll.Choice, l.Poll.Question),
		Hint:    "ask a shorter question, or ask it as a text"}
}

// Poll builds a poll, without its secret. info may be nil.
func Poll(question string, p *channel.Poll, info *waE2E.ContextInfo) *waE2E.Message {
	poll := &waE2E.PollCreationMessage{Name: &question, SelectableOptionsCount: proto.Uint32(0), ContextInfo: info} // 0: any number
	if !p.Several {
		poll.SelectableOptionsCount = proto.Uint32(1)
	}
	for _, c := range p.Choices {
		poll.Options = append(poll.Options, &waE2E.PollCreationMessage_Option{OptionName: &c})
	}
	return &waE2E.Message{PollCreationMessage: poll}
}

// OpenVote decrypts a vote as whatsmeow's DecryptPollVote does, which tries one
// address of each person only; nil if the vote is not one of voter's.
func OpenVote(v *waE2E.PollEncValue, secret []byte, id string, creator, voter types.JID) []byte {
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

// Chosen returns the names of the choices, of which a vote holds the hashes.
func Chosen(poll *waE2E.PollCreationMessage, plain []byte) (choices []string, ok bool) {
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

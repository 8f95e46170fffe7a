package serve

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox/records"
)

// approval takes a member's answer to an approval: a vote in its poll, or a typed "yes ID" or "no ID".
// The answer counts only from a sender whom the operator has named. taken means that the message was
// for an approval, and that nothing else gets it. The channel delivers it again after an error.
func (h *Host) approval(ctx context.Context, chat groups.Address, m *channel.Inbound) (taken bool, err error) {
	a := h.Config().Approval
	g, ok := h.Registry().ByFolder(a.Group)
	if !ok || g.Address() != chat {
		return false, nil
	}
	var id string
	var yes bool
	switch m.Kind {
	case channel.KindVote:
		var choices []string
		id, choices, err = h.Outbox.ApprovalAsked(ctx, chat, m.Target, m.Choices)
		if id == "" || err != nil || len(choices) == 0 { // the vote was withdrawn: the first answer has counted
			return id != "", err
		}
		yes = choices[0] == bridge.ChoiceYes || choices[0] == bridge.ChoiceAllow
	case channel.KindMessage:
		if id, yes, ok = approvalWords(m.Text); !ok {
			return false, nil
		}
	default:
		return false, nil
	}
	if m.Forwarded || !a.May(m.Sender, m.Also) {
		h.opts.Log.Warn("an answer to an approval does not count: its sender is not among approval.members", "group", a.Group, "sender", m.Sender)
		return true, nil
	}
	err = h.Bridge.DecideByID(ctx, id, yes, m.Sender)
	if errors.Is(err, records.ErrNotFound) {
		return m.Kind == channel.KindVote, nil // a typed yes to something else
	}
	return true, err
}

// maxAnswer is the longest typed answer, in bytes.
const maxAnswer = 64

// approvalWords parses a typed answer: yes or no, and the whole id of an approval, 32 hex digits.
func approvalWords(text string) (id string, yes, ok bool) {
	if len(text) > maxAnswer {
		return "", false, false
	}
	words := strings.Fields(strings.ToLower(text))
	if len(words) != 2 || !slices.Contains([]string{"yes", "no"}, words[0]) || len(words[1]) != 32 || strings.Trim(words[1], "0123456789abcdef") != "" {
		return "", false, false
	}
	return words[1], words[0] == "yes", true
}

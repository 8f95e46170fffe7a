package turns

import (
	"strings"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/inbound"
)

// maxEventText is how many bytes of an event an assistant gets.
const maxEventText = 500

// eventText returns the content of an event: a text, an emoji or choices. It is empty if a
// reaction or vote was withdrawn.
func eventText(in channel.Inbound) string {
	switch in.Kind {
	case channel.KindEdit, channel.KindNote:
		return inbound.Cut(in.Text, maxEventText)
	case channel.KindReaction:
		return inbound.Cut(in.Emoji, maxEventText)
	case channel.KindVote:
		return inbound.Cut(strings.Join(in.Choices, ", "), maxEventText)
	}
	return ""
}

// replaced removes the events from kept that r makes obsolete: a member's earlier reaction
// to, or edit of, the same message.
func (c *conversation) replaced(r *record) []*record {
	if r.Kind != inbound.KindEvent || r.Sender == "" || r.Event.What == channel.KindNote {
		return nil
	}
	return c.cut(func(old *record) bool {
		return old.Kind == inbound.KindEvent && old.Sender == r.Sender && old.Event.What == r.Event.What && old.Event.Target == r.Event.Target
	})
}

package assistant

import (
	"strings"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// Limits for members' edits, deletions, reactions and votes. They are counted apart, so a
// flood of events pushes out no message.
const (
	maxEvents    = 20  // of one conversation that wait for its next turn
	maxEventText = 500 // bytes of one
)

// event is what a member did to a message.
type event struct {
	What   channel.Kind `json:"what"`
	Target string       `json:"target"`           // the platform's id of the message, by the member's word
	Starts bool         `json:"starts,omitempty"` // it calls the assistant
}

// heard reports whether a group's assistant gets events of this kind.
func heard(g groups.Group, k channel.Kind) bool {
	return k == channel.KindMessage || k == channel.KindLocation || isEvent(k) && g.Events != groups.EventOff
}

func isEvent(k channel.Kind) bool {
	switch k {
	case channel.KindEdit, channel.KindDeletion, channel.KindReaction, channel.KindVote:
		return true
	}
	return false
}

// eventText returns the content of an event: a text, an emoji or choices. It is empty if a
// reaction or vote was withdrawn.
func eventText(in channel.Inbound) string {
	switch in.Kind {
	case channel.KindEdit:
		return cut(in.Text, maxEventText)
	case channel.KindReaction:
		return cut(in.Emoji, maxEventText)
	case channel.KindVote:
		return cut(strings.Join(in.Choices, ", "), maxEventText)
	}
	return ""
}

// replaced removes the events from kept that r makes obsolete: a member's earlier reaction
// to, or edit of, the same message.
func (c *conversation) replaced(r *record) []*record {
	if r.Kind != eventKind || r.Sender == "" {
		return nil
	}
	return c.cut(func(old *record) bool {
		return old.Kind == eventKind && old.Sender == r.Sender && old.Event.What == r.Event.What && old.Event.Target == r.Event.Target
	})
}

package slack

import (
	"cmp"
	"context"
	"strings"

	"github.com/longshore-bridge/longshore/host/channel/slack/decode"
)

// maxNames is how many names one text may ask Slack for.
const maxNames = 30

// readable returns a text of Slack as members see it, with names and addresses in place of
// references. Slack escapes every < that a member writes, so each < begins a reference.
func (s *Slack) readable(ctx context.Context, text string) string {
	var out strings.Builder
	asked := 0
	for {
		before, rest, found := strings.Cut(text, "<")
		out.WriteString(decode.Unescape(before))
		if !found {
			return out.String()
		}
		ref, after, closed := strings.Cut(rest, ">")
		if !closed {
			out.WriteString(decode.Unescape("<" + rest))
			return out.String()
		}
		if strings.HasPrefix(ref, "@") {
			asked++
		}
		out.WriteString(s.reference(ctx, ref, asked <= maxNames))
		text = after
	}
}

// reference returns what a reference shows. ask allows a question for a name.
func (s *Slack) reference(ctx context.Context, ref string, ask bool) string {
	target, label, _ := strings.Cut(ref, "|")
	label = decode.Unescape(label)
	switch {
	case strings.HasPrefix(target, "@"):
		if id := target[1:]; label == "" && ask && decode.IsID(id) {
			label = s.nameOf(ctx, id)
		}
		return "@" + cmp.Or(label, target[1:])
	case strings.HasPrefix(target, "#"):
		return "#" + cmp.Or(label, s.chatName(target[1:]))
	case strings.HasPrefix(target, "!"): // @here, a group of members, a date
		word, _, _ := strings.Cut(target[1:], "^")
		return cmp.Or(label, "@"+word)
	}
	target = decode.Unescape(strings.TrimPrefix(target, "mailto:"))
	if label == "" || label == target || "http://"+label == target || "https://"+label == target {
		return target
	}
	return label + " (" + target + ")"
}

// chatName returns the operator's name for a chat, or its id.
func (s *Slack) chatName(id string) string {
	for _, c := range s.Served() {
		if c.JID == decode.ChatOf(id) && c.Name != "" {
			return c.Name
		}
	}
	return id
}

package slack

import (
	"cmp"
	"context"
	"strings"

	"github.com/longshore-bridge/longshore/host/channel"
)

// maxNames is how many names one text may ask Slack for.
const maxNames = 30

var unescape = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// readable is a text of Slack's as members see it: a member's name for an id, an
// address for a link. Slack escapes every < and & that a member writes, so each < begins
// such a reference.
func (s *Slack) readable(ctx context.Context, text string) string {
	var out strings.Builder
	asked := 0
	for {
		before, rest, found := strings.Cut(text, "<")
		out.WriteString(unescape.Replace(before))
		if !found {
			return out.String()
		}
		ref, after, closed := strings.Cut(rest, ">")
		if !closed {
			out.WriteString(unescape.Replace("<" + rest))
			return out.String()
		}
		if strings.HasPrefix(ref, "@") {
			asked++
		}
		out.WriteString(s.reference(ctx, ref, asked <= maxNames))
		text = after
	}
}

// reference is what stands between < and >. ask allows a question for a name.
func (s *Slack) reference(ctx context.Context, ref string, ask bool) string {
	target, label, _ := strings.Cut(ref, "|")
	label = unescape.Replace(label)
	switch {
	case strings.HasPrefix(target, "@"):
		if id := target[1:]; label == "" && ask && slackID.MatchString(id) {
			label = s.nameOf(ctx, id)
		}
		return "@" + cmp.Or(label, target[1:])
	case strings.HasPrefix(target, "#"):
		return "#" + cmp.Or(label, s.chatName(target[1:]))
	case strings.HasPrefix(target, "!"): // @here, a group of members, a date
		word, _, _ := strings.Cut(target[1:], "^")
		return cmp.Or(label, "@"+word)
	}
	target = unescape.Replace(strings.TrimPrefix(target, "mailto:"))
	if label == "" || label == target || "http://"+label == target || "https://"+label == target {
		return target
	}
	return label + " (" + target + ")"
}

// chatName is what the operator calls a chat, or its id.
func (s *Slack) chatName(id string) string {
	for _, c := range *s.chats.Load() {
		if c.JID == chatOf(id) && c.Name != "" {
			return c.Name
		}
	}
	return id
}

// common are the reactions that members give, by Slack's names; the others come as
// their names between colons.
var common = map[string]string{
	"+1": "👍", "thumbsup": "👍", "-1": "👎", "thumbsdown": "👎", "eyes": "👀", "heart": "❤️", "white_check_mark": "✅", "heavy_check_mark": "✔️",
	"x": "❌", "tada": "🎉", "pray": "🙏", "clap": "👏", "raised_hands": "🙌", "ok_hand": "👌", "wave": "👋", "muscle": "💪", "fire": "🔥", "rocket": "🚀",
	"100": "💯", "joy": "😂", "laughing": "😆", "smile": "😄", "slightly_smiling_face": "🙂", "thinking_face": "🤔", "cry": "😢", "sob": "😭", "rage": "😡",
	"warning": "⚠️", "question": "❓", "exclamation": "❗", "bulb": "💡", "star": "⭐", "hourglass": "⌛", "ship": "🚢",
}

// tones are the skin tones, from 2 on.
var tones = []string{"🏻", "🏼", "🏽", "🏾", "🏿"}

// emoji is a reaction as a character.
func emoji(name string) string {
	if name == "" {
		return ""
	}
	base, tone, toned := strings.Cut(name, "::skin-tone-")
	e, ok := common[base]
	if !ok {
		return channel.CleanName(":" + base + ":")
	}
	if toned && len(tone) == 1 && tone[0] >= '2' && tone[0] <= '6' {
		e = strings.TrimSuffix(e, "\ufe0f") + tones[tone[0]-'2']
	}
	return e
}

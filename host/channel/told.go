package channel

import (
	"slices"
	"strings"
)

// IsMessage reports whether a member said something by this kind, so that it has a Quote,
// can be quoted, and may start a turn. Whether a sticker does is the host's to decide.
func (k Kind) IsMessage() bool {
	return slices.Contains([]Kind{KindMessage, KindLocation, KindContact, KindPoll, KindSticker}, k)
}

// ContactText is a contact in words, for Inbound.Text: a name and its numbers or addresses.
func ContactText(name string, numbers ...string) string {
	return strings.TrimSpace("Contact: " + strings.Join(append([]string{name}, numbers...), " "))
}

// PollText is a poll of a member in words, for Inbound.Text.
func PollText(question string, choices []string) string {
	var b strings.Builder
	b.WriteString("Poll: " + question)
	for _, c := range choices {
		b.WriteString("\n- " + c)
	}
	return b.String()
}

// StickerText is a sticker in words, for Inbound.Text. The name, such as the emoji that the
// sticker stands for, may be empty.
func StickerText(name string) string {
	if name == "" {
		return "sent a sticker"
	}
	return "sent a sticker: " + name
}

// NotShown is a message in words that the channel cannot show, for Inbound.Text: what the
// member did, such as "rolled a die", or the platform's name of the kind, as in Inbound.Told.
func NotShown(kind string) string { return "sent something that cannot be shown here: " + kind }

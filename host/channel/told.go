package channel

import (
	"cmp"
	"slices"
	"strings"
)

// The words of a KindNote about a pin. The text of the message may follow a colon.
const (
	Pinned   = "pinned a message"
	Unpinned = "unpinned a message"
)

// ToldName reports whether a name has the form of Inbound.Told: 1 to 64 letters, digits and "._:-".
func ToldName(name string) bool {
	return name != "" && len(name) <= 64 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-") == ""
}

// IsMessage reports whether the kind is something that a member said: it may have a Quote, can
// be quoted, and may start a turn. The host decides whether a sticker does.
func (k Kind) IsMessage() bool {
	return slices.Contains([]Kind{KindMessage, KindLocation, KindContact, KindPoll, KindSticker}, k)
}

// ContactText returns a contact in words, for Inbound.Text: a name, its numbers and addresses.
func ContactText(name string, numbers ...string) string {
	return strings.TrimSpace("Contact: " + strings.Join(append([]string{name}, numbers...), " "))
}

// CardText returns a contact in words, for Inbound.Text: who, the platform's name for it, and
// the numbers and addresses of a vCard (RFC 6350). If who is empty, the vCard's name counts.
func CardText(who, card string) string {
	var reach []string
	for line := range strings.Lines(card) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		key, _, _ = strings.Cut(key[strings.Index(key, ".")+1:], ";")
		switch value = strings.TrimPrefix(value, "tel:"); strings.ToUpper(key) {
		case "FN":
			who = cmp.Or(who, value)
		case "TEL", "EMAIL":
			if !strings.Contains(who, value) {
				reach = append(reach, value)
			}
		}
	}
	return ContactText(strings.Join(strings.Fields(who), " "), reach...)
}

// PollText returns a member's poll in words, for Inbound.Text.
func PollText(question string, choices []string) string {
	var b strings.Builder
	b.WriteString("Poll: " + question)
	for _, c := range choices {
		b.WriteString("\n- " + c)
	}
	return b.String()
}

// StickerText returns a sticker in words, for Inbound.Text. The name, such as the emoji that it
// stands for, may be empty.
func StickerText(name string) string {
	if name == "" {
		return "sent a sticker"
	}
	return "sent a sticker: " + name
}

// NotShown returns the words, for Inbound.Text, for a message that the channel cannot show. kind
// is what the member did, such as "rolled a die", or the platform's name as in Inbound.Told.
func NotShown(kind string) string { return "sent something that cannot be shown here: " + kind }

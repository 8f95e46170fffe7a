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

// ToldName reports whether a name has the form of Inbound.Told: 1 to 64 letters, digits and
// "._:-".
func ToldName(name string) bool {
	return name != "" && len(name) <= 64 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-") == ""
}

// IsMessage reports whether a member said something by this kind, so that it has a Quote,
// can be quoted, and may start a turn. Whether a sticker does is the host's to decide.
func (k Kind) IsMessage() bool {
	return slices.Contains([]Kind{KindMessage, KindLocation, KindContact, KindPoll, KindSticker}, k)
}

// ContactText is a contact in words, for Inbound.Text: a name and its numbers or addresses.
func ContactText(name string, numbers ...string) string {
	return strings.TrimSpace("Contact: " + strings.Join(append([]string{name}, numbers...), " "))
}

// CardText is a contact in words, for Inbound.Text: who it is, as the platform says, and the
// numbers and addresses of a vCard (RFC 6350). Without who, the vCard names the contact.
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

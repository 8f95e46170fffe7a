package groups

import (
	"fmt"
	"regexp"
	"strings"
)

// JID names a chat on a channel, in the form the channel itself uses:
// "1203…@g.us", "slack:C024BE91L", "web:family". Only ParseJID makes one of
// foreign text.
type JID string

// maxJID is the longest chat name, in bytes.
const maxJID = 256

// jidForm is one way in which a channel names its chats.
type jidForm struct {
	channel string
	pattern *regexp.Regexp
}

// The WhatsApp forms carry no device part: a chat is with a person or a
// group, never with one phone. mem: is for tests.
var jidForms = []jidForm{
	{"web", regexp.MustCompile(`^web:[a-z0-9][a-z0-9_-]{0,63}$`)},
	{"whatsapp", regexp.MustCompile(`^[0-9]+(-[0-9]+)?@g\.us$`)},
	{"whatsapp", regexp.MustCompile(`^[0-9]+@(s\.whatsapp\.net|lid)$`)},
	{"slack", regexp.MustCompile(`^slack:[A-Z][A-Z0-9]+$`)},
	{"telegram", regexp.MustCompile(`^tg:(-?[0-9]+|@[A-Za-z][A-Za-z0-9_]+)$`)},
	{"discord", regexp.MustCompile(`^dc:[0-9]+$`)},
	{"mem", regexp.MustCompile(`^mem:[A-Za-z0-9][A-Za-z0-9_.-]*$`)},
}

// ParseJID checks that s has the form of a chat of some channel: 1 to 256
// bytes of printable ASCII in one of the forms above. It does not say that the
// chat exists or that anybody may send to it. The error is an *Error with code
// bad_jid.
func ParseJID(s string) (JID, error) {
	jid := JID(s)
	if len(s) <= maxJID && jid.Channel() != "" {
		return jid, nil
	}
	shown := s
	if len(shown) > maxJID {
		shown = shown[:maxJID] + "…"
	}
	return "", &Error{
		Code:    CodeBadJID,
		Message: fmt.Sprintf("%q is no chat that any channel knows", shown),
		Hint: "leave the chat out to send to your own, or use a form such as web:family, 120363000000000000@g.us, " +
			"4915100000000@s.whatsapp.net, slack:C024BE91L, tg:-1001234567890, dc:1234567890",
	}
}

// Channel is the key of the channel that j belongs to by its form: "web",
// "whatsapp", "slack", "telegram", "discord", or "mem" in tests; empty when j
// has none of the forms.
func (j JID) Channel() string {
	s := string(j)
	if len(s) == 0 || len(s) > maxJID || strings.ContainsAny(s, "\n\r") {
		return ""
	}
	for _, f := range jidForms {
		if f.pattern.MatchString(s) {
			return f.channel
		}
	}
	return ""
}

package groups

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/media"
)

// JID names a chat on a channel, in the form the channel itself uses:
// "1203…@g.us", "slack:C024BE91L", "web:family". Only ParseJID makes one of
// foreign text.
type JID string

// OnPage reports whether the chat is on the host's own page.
func (j JID) OnPage() bool { return strings.HasPrefix(string(j), "web:") }

// Direct reports whether the chat's form is that of a chat with one person. Other
// platforms do not tell by the form.
func (j JID) Direct() bool {
	return strings.HasSuffix(string(j), "@s.whatsapp.net") || strings.HasSuffix(string(j), "@lid") || strings.HasPrefix(string(j), "slack:D")
}

// Address is a chat on one of the host's channels. A platform may have several
// accounts, each of them a channel, so that a JID alone does not name a chat.
type Address struct {
	Channel string // its name in longshore.yaml
	JID     JID
}

// String is the address as main may write it: "web-team/web:family".
func (a Address) String() string { return a.Channel + "/" + string(a.JID) }

// MaxJID is the longest chat name, in bytes.
const MaxJID = 256

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

// ownForms are what stands before a colon only in the forms above.
var ownForms = []string{"web", "whatsapp", "slack", "tg", "telegram", "dc", "discord", "mem"}

// otherForm is the form of every other platform's chats: its key, a colon and
// what the platform calls the chat.
var otherForm = regexp.MustCompile(`^([a-z][a-z0-9]*):[A-Za-z0-9][A-Za-z0-9_.@-]*$`)

// ParseJID checks that s has the form of a chat of some channel: 1 to 256
// bytes of printable ASCII in one of the forms above. It does not say that the
// chat exists or that anybody may send to it. The error is an *refusal.Error with code
// bad_jid.
func ParseJID(s string) (JID, error) {
	if jid := JID(s); len(s) <= MaxJID && jid.Channel() != "" {
		return jid, nil
	}
	return "", &refusal.Error{
		Code:    CodeBadJID,
		Message: fmt.Sprintf("%q is no chat that any channel knows", media.Cut(s, MaxJID)),
		Hint: "leave the chat out to send to your own, or use a form such as web:family, 120363000000000000@g.us, " +
			"4915100000000@s.whatsapp.net, slack:C024BE91L, tg:-1001234567890, dc:1234567890",
	}
}

// Channel is the key of the platform that j belongs to by its form: "web",
// "whatsapp", "slack", "telegram", "discord", "mem" in tests, or what stands
// before the colon; empty when j has none of the forms.
func (j JID) Channel() string {
	s := string(j)
	if len(s) == 0 || len(s) > MaxJID || strings.ContainsAny(s, "\n\r") {
		return ""
	}
	for _, f := range jidForms {
		if f.pattern.MatchString(s) {
			return f.channel
		}
	}
	return j.Prefix()
}

// Prefix is what stands before the colon of a chat in the form of all platforms
// that have none of their own here: "push" of "push:desk". It is empty in every
// other form.
func (j JID) Prefix() string {
	m := otherForm.FindStringSubmatch(string(j))
	if m == nil || len(j) > MaxJID || slices.Contains(ownForms, m[1]) {
		return ""
	}
	return m[1]
}

package decode

import (
	"strings"
	"unicode/utf8"

	"go.mau.fi/whatsmeow/proto/waE2E"

	"github.com/longshore-bridge/longshore/host/channel"
)

// Bounds for messages of modified apps. The apps themselves write up
// to 65,536 characters.
const (
	MaxText = 65536 // characters
	MaxID   = 128   // characters; the apps' own ids have up to 32
)

// WithRef returns the message's files with the reference by which Fetch finds them.
func (d *Content) WithRef(ref string) []channel.Attachment {
	for i := range d.Files {
		d.Files[i].Ref = ref
	}
	return d.Files
}

// First truncates a text to that many characters. Bytes that are not valid UTF-8
// become U+FFFD: WhatsApp's format does not promise UTF-8.
func First(text string, characters int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= characters || utf8.RuneCountInString(text) <= characters {
		return text
	}
	return string([]rune(text)[:characters])
}

// CleanName makes a name that a person chose safe to show. Apps send "-" for a
// name that was never chosen; it becomes empty.
func CleanName(name string) string {
	if name = channel.CleanName(name); name == "-" {
		return ""
	}
	return name
}

func place(latitude, longitude float64, name string) *channel.Location {
	return &channel.Location{Latitude: latitude, Longitude: longitude, Name: First(strings.Join(strings.Fields(name), " "), MaxText)}
}

func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// line adds a line to the text.
func (d *Content) line(s string) {
	if s != "" && d.Text != "" {
		d.Text += "\n"
	}
	d.Text += s
}

// link adds an address that the text does not show.
func (d *Content) link(address string) {
	if !strings.Contains(d.Text, address) {
		d.line(address)
	}
}

func contact(c *waE2E.ContactMessage) string {
	return channel.CardText(c.GetDisplayName(), First(c.GetVcard(), MaxText))
}

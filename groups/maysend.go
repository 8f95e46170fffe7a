package groups

import (
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/setting"
)

// MaySend is the operator's policy for the files that leave a group. Texts are not
// subject to it. The zero value permits every file.
type MaySend struct {
	Kinds []string     `yaml:"kinds" enum:"image,video,audio,voice,sticker,document" help:"Only files that the chat gets as one of these kinds."`
	Most  setting.Size `yaml:"most" above:"0" help:"No file above this size."`
	Hours Hours        `yaml:"hours" form:"hours" help:"Files leave at these hours only, in the group's time zone, such as 08:00-20:00."`
}

// Destination is a chat that has no assistant and to which groups may send. What is
// written there reaches no assistant.
type Destination struct {
	Chat    JID    `yaml:"chat" required:"true" help:"The chat, as its channel writes it."`
	Channel string `yaml:"channel" help:"The name of the channel that carries it. Needed if several could."` // Load fills it in
}

// Address is the destination's chat.
func (d Destination) Address() Address { return Address{d.Channel, d.Chat} }

// Reaches reports whether a group may send to the chat of the group with that folder, or
// to the destination with that name: its own chat, those of may_send_to, and main all.
func (g Group) Reaches(name string) bool {
	return g.Main || g.Folder == name || slices.Contains(g.MaySendTo, name)
}

// Kind reports whether files of a kind may leave.
func (m MaySend) Kind(kind string) bool { return len(m.Kinds) == 0 || slices.Contains(m.Kinds, kind) }

// Hours is a part of each day by the clock on the wall: "08:00-20:00" begins at 08:00 and
// ends before 20:00; "22:00-06:00" goes over midnight. Empty, it is the whole day.
type Hours string

// Contain reports whether the hours contain a time, in that time's zone.
func (h Hours) Contain(t time.Time) bool {
	from, to, given := strings.Cut(string(h), "-")
	if !given {
		return true
	}
	clock := t.Format("15:04") // sorts as text
	if from < to {
		return from <= clock && clock < to
	}
	return from <= clock || clock < to
}

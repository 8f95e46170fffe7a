package groups

import (
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/setting"
)

// Approve is which requests of a group wait until a person says yes to them. The zero
// value is none.
type Approve struct {
	Files   bool             `yaml:"files" help:"Every file."`
	Kinds   []string         `yaml:"kinds" enum:"image,video,audio,voice,sticker,document" help:"Files that the chat gets as one of these kinds."`
	Above   setting.Size     `yaml:"above" above:"0" help:"Files above this size."`
	First   bool             `yaml:"first" help:"Files, until the first one has been sent."`
	Foreign bool             `yaml:"foreign" help:"Messages, questions, edits and files to another chat than the group's own."`
	Within  setting.Duration `yaml:"within" above:"0" help:"For how long an answer counts. Without it, 24 hours."`
}

// File is the rule because of which a file of such a kind and size waits; empty: none.
func (a Approve) File(kind string, size int64) string {
	switch {
	case a.Files:
		return "approve.files"
	case slices.Contains(a.Kinds, kind):
		return "approve.kinds"
	case a.Above > 0 && size > int64(a.Above):
		return "approve.above"
	}
	return ""
}

// Time is for how long an answer counts.
func (a Approve) Time() time.Duration {
	if a.Within > 0 {
		return a.Within.Std()
	}
	return 24 * time.Hour
}

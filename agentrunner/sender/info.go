package sender

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// Info says whether sending works, and what may be sent where.
type Info struct {
	Summary     string             `json:"summary" jsonschema:"The same in words."`
	Working     bool               `json:"working" jsonschema:"Whether a file sent now would be taken by the host."`
	Chat        string             `json:"chat,omitempty"`
	Thread      string             `json:"thread,omitempty" jsonschema:"Thread in which this turn was asked for; what is sent goes there."`
	Group       string             `json:"group,omitempty"`
	Channel     string             `json:"channel,omitempty"`
	Connected   bool               `json:"connected" jsonschema:"Whether the host has its connection to the chat platform."`
	Receipts    bool               `json:"receipts" jsonschema:"Whether the host reports what became of a request."`
	Main        bool               `json:"main" jsonschema:"Whether this group may send to all chats."`
	Chats       []ipc.ChatInfo     `json:"chats,omitempty" jsonschema:"Chats this group may send to."`
	Can         []string           `json:"can,omitempty" jsonschema:"What this chat and the group's rights allow besides sending: react, edit, unsend, ask, schedule, register, history."`
	Limits      map[string]int64   `json:"limits,omitempty" jsonschema:"Largest file of each kind, in bytes."`
	Links       *LinkInfo          `json:"links,omitempty" jsonschema:"Files too large for the chat go as links; missing: they are refused."`
	Captions    map[string]int     `json:"captions,omitempty" jsonschema:"Longest caption of each kind, in characters; 0: it goes as a message of its own."`
	TextLimit   int                `json:"text_limit,omitempty" jsonschema:"Characters in one message; longer text is split."`
	Mounts      []ipc.ContextMount `json:"mounts,omitempty" jsonschema:"Directories from which files are sent without a copy."`
	HostVersion string             `json:"host_version,omitempty"`
	ToolVersion string             `json:"tool_version"`
	Pending     int                `json:"pending" jsonschema:"Requests that the host has not taken yet."`
	Code        string             `json:"code,omitempty" jsonschema:"Why the call was refused; stable."`
	Message     string             `json:"message,omitempty"`
	Hint        string             `json:"hint,omitempty" jsonschema:"What to do about it."`
}

// LinkInfo says that larger files go as links.
type LinkInfo struct {
	MaxBytes int64 `json:"max_bytes"` // of one file
	Hours    int64 `json:"hours"`     // how long a link can be followed
}

// Info reads the host's description of the group. version is this program's
// version.
func (s *Sender) Info(version string) Info {
	host := s.host()
	c := host.context
	info := Info{Chat: c.Chat, Thread: s.config.Thread, Group: c.Group, Channel: c.Channel, Connected: c.Connected, Main: c.Main || s.config.Main,
		Receipts: s.receipts(), Chats: c.Chats, Can: c.Can, Limits: c.Limits, Captions: c.Captions, TextLimit: c.Text,
		HostVersion: c.Host, ToolVersion: version}
	if l := c.Links; l != nil {
		info.Links = &LinkInfo{MaxBytes: l.MaxBytes, Hours: l.Seconds / 3600}
	}
	if host.known {
		info.Mounts = c.Mounts
	}
	info.Chat = cmp.Or(info.Chat, s.config.Chat)
	var oldest time.Duration
	var err error
	if s.queue != nil {
		info.Pending, oldest, err = s.queue.pending()
	} else if p := host.refused(); p != nil {
		err = p
		info.Code, info.Message, info.Hint = p.Code, p.Message, p.Hint
	}
	info.Working = err == nil && oldest < stuckAfter
	info.Summary = media.Printable(info.words(s, host, err, oldest))
	return info
}

// stuckAfter is the age at which a waiting request shows that the host does not
// run: a running host rescans the queue every few seconds.
const stuckAfter = time.Minute

// Writable returns a *Problem if requests cannot be queued.
func (s *Sender) Writable() error {
	if s.queue == nil {
		if p := s.host().refused(); p != nil {
			return p
		}
		return nil
	}
	dir := filepath.Join(s.config.IPC, ipc.MessagesDir)
	stat, err := os.Stat(dir)
	if err == nil && !stat.IsDir() {
		err = syscall.ENOTDIR
	}
	if err == nil {
		err = mayWrite(dir)
	}
	if err != nil {
		return s.dropProblem(err)
	}
	return nil
}

func (i Info) words(s *Sender, host hostView, queue error, oldest time.Duration) string {
	var b strings.Builder
	switch {
	case queue != nil && s.queue == nil:
		return "Not working: " + i.Message + ". Files cannot be sent from here. " + capital(sentence(i.Hint))
	case queue != nil:
		return "Not working: there is no queue at " + quoted(s.config.IPC) + ". Files cannot be sent from here; tell the operator."
	case oldest >= stuckAfter:
		fmt.Fprintf(&b, "The host does not take requests: %d waiting, the oldest for %s. What is sent now is kept until the host takes it.", i.Pending, oldest.Round(time.Second))
	case !host.known:
		b.WriteString("Files can be queued. The host has published no information: it speaks an older protocol or has not started yet.")
	case !i.Connected:
		fmt.Fprintf(&b, "The host runs, but %s is not connected. What is sent now is kept and goes out once it is connected.", host.channel())
	default:
		fmt.Fprintf(&b, "Working: this group's chat is %s on %s, which is connected.", i.Chat, host.channel())
	}
	if len(i.Limits) > 0 {
		b.WriteString(" Largest files:")
		for n, kind := range slices.Sorted(maps.Keys(i.Limits)) {
			if n > 0 {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, " %s %s", kind, media.Size(i.Limits[kind]))
		}
		b.WriteString(".")
		if i.Links != nil {
			fmt.Fprintf(&b, " A larger file, up to %s, goes as a link.", media.Size(i.Links.MaxBytes))
		} else {
			b.WriteString(" A larger file is refused: links are not offered.")
		}
	}
	if len(i.Can) > 0 {
		b.WriteString(" Possible here besides: " + strings.Join(i.Can, ", ") + ".")
	}
	var paths []string
	for _, m := range i.Mounts {
		if !m.Shadow && under(m.Path, "/workspace") && !under(m.Path, containerIPC) { // the queue's own directories are not for files
			paths = append(paths, m.Path)
		}
	}
	if len(paths) > 0 {
		b.WriteString(" Sent without a copy from: " + strings.Join(paths, ", ") + ".")
	}
	if len(i.Chats) > 0 {
		b.WriteString(" Chats that may be named:")
		for _, c := range i.Chats {
			fmt.Fprintf(&b, " %s (%s)", c.Chat, c.Name)
			if c.Channel != "" { // an older host does not say
				fmt.Fprintf(&b, " on %s", c.Channel)
			}
		}
		b.WriteString(".")
	}
	return b.String() + " Tool version " + i.ToolVersion + "."
}

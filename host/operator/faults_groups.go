package operator

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// UnknownChat is a group chat that no group of longshore.yaml has, and in which a member
// has called since the host's start.
type UnknownChat struct {
	Channel  string    `json:"channel"`
	Chat     string    `json:"chat"`
	Messages int       `json:"messages"`
	Last     time.Time `json:"last"`
}

// MissingMount is a directory shared with a group that is not in its place.
type MissingMount struct {
	Group     string
	Container string // the path that the assistant sees
	Host      string
}

const (
	// uncalled messages in a group whose assistant never had a turn are a fault.
	uncalled = 3
	// unknownChatTime is how long a message in a chat without a group is a fault.
	unknownChatTime = time.Hour
)

// triggerFaults adds the groups in which members write and have never called the assistant.
func (l *Local) triggerFaults(f *Faults) {
	for _, g := range l.configured() {
		if g.Assistant == "" || g.Trigger == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(l.Layout.Logs(), g.Folder, "assistant.log")); err == nil {
			continue // it had a turn, under this host or one before
		}
		about := "group " + g.Folder
		switch n := l.Running.Assistants.Ignored(g.Folder).NotCalled; {
		case n >= uncalled:
			f.add(FaultTrigger, about, fmt.Sprintf("members of group %s wrote %s, none of them with %s, so nobody answers", g.Folder, media.Count(n, "message"), g.Trigger),
				fmt.Sprintf("tell the members to write %s, or remove trigger: from the group, then: longshore reload", g.Trigger))
		default:
			f.Unknown = append(f.Unknown, about)
		}
	}
}

// unknownChatFaults adds one fault for each channel.
func (l *Local) unknownChatFaults(f *Faults) {
	chats := map[string][]string{}
	for _, s := range l.Running.Pairing.UnknownChats() {
		if time.Since(s.Last) < unknownChatTime {
			chats[s.Channel] = append(chats[s.Channel], s.Chat)
		}
	}
	for channel, all := range chats {
		slices.Sort(all)
		words, more := strings.Join(all[:min(len(all), 3)], ", "), ""
		if len(all) > 3 {
			more = fmt.Sprintf(" and %d more", len(all)-3)
		}
		f.add(FaultChat, "channel "+channel, fmt.Sprintf("nobody answers in %s%s on channel %s: no group has that chat", words, more, channel),
			"longshore groups add "+all[0]+"; or take the account out of that chat")
	}
}

// stuckTime is how long a queue waits before that is a fault.
const stuckTime = time.Minute

// stuckFaults adds the groups whose queue waits, unless all wait for the same. A full quota
// is none: what fills it is.
func (l *Local) stuckFaults(f *Faults) {
	if slices.ContainsFunc(f.Now, func(f Fault) bool { return f.Name == FaultAccepting }) {
		return
	}
	for _, g := range l.configured() {
		if s, ok := l.Running.Queue.Stuck(g.Folder); ok && s.Why.Code != "over_quota" && time.Since(s.Since) >= stuckTime {
			f.add(FaultStuck, "group "+g.Folder, fmt.Sprintf("the queue of group %s has waited since %s behind request %s: %s", g.Folder, s.Since.UTC().Format("15:04 MST"), s.Request, s.Why.Message),
				"make room if the disk lacks it; see: longshore logs")
		}
	}
}

func (l *Local) mountFaults(f *Faults) {
	for _, m := range l.Running.Machine.MissingMounts() {
		f.add(FaultMount, "group "+m.Group+", "+m.Container, fmt.Sprintf("the directory %s, which group %s has as %s, is gone or another one", m.Host, m.Group, m.Container),
			"put it back, or mount it again; if another directory is meant to be there, restart the host")
	}
}

// queueFaults adds the groups whose queue the host may not use: their requests wait for ever.
func (l *Local) queueFaults(f *Faults) {
	for _, g := range l.configured() {
		for _, leaf := range []string{ipc.MessagesDir, ipc.FilesDir, ipc.ResultsDir, ipc.InputDir, ipc.ContextDir} {
			err := safefs.Writable(l.Layout.IPC(g.Folder, leaf), true)
			if err == nil || errors.Is(err, fs.ErrNotExist) { // the queue makes a missing one again
				continue
			}
			f.add(FaultQueue, "group "+g.Folder, fmt.Sprintf("the host cannot use the queue of group %s: %v", g.Folder, err),
				"give the directory back to the host's user, see: longshore doctor")
			break
		}
	}
}

// RefusedCall are refused calls of the model by a group's assistant that the operator might
// allow.
type RefusedCall struct {
	Group, Assistant string
	Names            []string // of keys, kinds of tool and models, by the assistant
}

func (l *Local) callFaults(f *Faults) {
	for _, a := range l.Running.Models.RefusedCalls() {
		names := a.Names[:min(len(a.Names), 3)]
		f.add(FaultCall, "group "+a.Group, fmt.Sprintf("calls of the model by the assistant of group %s were refused, as they hold %q", a.Group, names),
			fmt.Sprintf("if that is meant, add it to assistants.%s.provider_tools: {allow: [%s]} and run longshore reload; see docs/assistants.md", a.Assistant, strings.Join(names, ", ")))
	}
}

// inOrder sorts faults and the unknown parts.
func (f *Faults) inOrder() {
	slices.SortFunc(f.Now, func(a, b Fault) int { return cmp.Compare(a.ID(), b.ID()) })
	slices.Sort(f.Unknown)
}

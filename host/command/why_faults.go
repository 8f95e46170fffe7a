package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/media"
)

// faulty warns of the host's faults of one name whose About begins with about, and reports whether there
// are any. They may keep the answer, and do not end the walk.
func (w *path) faulty(name, fault, about string) (any bool) {
	for _, f := range w.status.Faults {
		if f.Name == fault && strings.HasPrefix(f.About, about) {
			w.warn(name, f.Message, f.Hint)
			any = true
		}
	}
	return any
}

func (w *path) file(context.Context) {
	w.faulty("configuration", operator.FaultConfig, "")
}

// stopFor stops at the host's first fault of that name and About.
func (w *path) stopFor(name, fault, about string) bool {
	i := slices.IndexFunc(w.status.Faults, func(f operator.Fault) bool { return f.Name == fault && f.About == about })
	if i >= 0 {
		w.stop(name, w.status.Faults[i].Message, w.status.Faults[i].Hint)
	}
	return i >= 0
}

func (w *path) queue(context.Context) {
	w.stopFor("queue", operator.FaultStuck, "group "+w.group.Folder)
}

func (w *path) clock(context.Context) {
	w.faulty("clock", operator.FaultClock, "")
}

func (w *path) mounts(context.Context) {
	w.faulty("mounts", operator.FaultMount, "group "+w.group.Folder+", ")
}

// disk checks that the disk has room: without room, channels take no messages.
func (w *path) disk(context.Context) {
	if !w.stopFor("disk", operator.FaultAccepting, "outbox") {
		w.faulty("disk", operator.FaultDisk, "")
	}
}

// whyUnknownChat answers for a group that only the running host has, or for a chat without a group
// in which somebody wrote. Otherwise it returns unknown, the error of the name.
func (e *env) whyUnknownChat(ctx context.Context, c *config.Config, wanted string, unknown error) error {
	client := operator.NewClient(operator.ControlDir(c.Layout()))
	s, err := client.Status(ctx)
	if err != nil {
		return unknown
	}
	if g, ok := servedAs(s, wanted, c.Groups); ok {
		w := &path{env: e, status: s}
		w.file(ctx)
		w.stop("group", fmt.Sprintf("the host still serves group %s, and %s has it no longer", g.Folder, e.Config), "write it into the file again; or, if it is to end: "+e.Command("reload", "--remove"))
		return w.answer(g.Folder, "group %s is gone from the file")
	}
	for _, one := range s.UnknownChats {
		if wanted != one.Chat && wanted != one.Channel+"/"+one.Chat {
			continue
		}
		w := &path{env: e}
		w.stop("group", fmt.Sprintf("the chat %s is not registered: no group has it; %s came from there", one.Chat, media.Count(one.Messages, "message")),
			e.Command("groups", "add", terminal.ShellWord(one.Chat)))
		return w.answer(one.Chat, "nobody answers in the chat %s")
	}
	return unknown
}

// servedAs returns the group that the running host serves under a folder, name or chat, and that the
// file no longer has.
func servedAs(s operator.Status, wanted string, file []groups.Group) (operator.Group, bool) {
	i := slices.IndexFunc(s.Groups, func(g operator.Group) bool {
		return (wanted == g.Folder || wanted == g.Name || wanted == g.Chat) && !slices.ContainsFunc(file, func(f groups.Group) bool { return f.Folder == g.Folder })
	})
	if i < 0 {
		return operator.Group{}, false
	}
	return s.Groups[i], true
}

// whyByOlder answers while the file is invalid, with the faults of the host that runs by a former file.
// It returns invalid, the error of the file, and prints no steps if no host runs.
func (e *env) whyByOlder(ctx context.Context, invalid error) error {
	return e.withLastGood(ctx, invalid, func(c operator.Control) error {
		w := &path{env: e}
		if s, err := c.Status(ctx); err == nil {
			w.status = s
		}
		for _, f := range w.status.Faults {
			w.warn(f.Name, f.Message, f.Hint)
		}
		w.stop("configuration", "the file is invalid; the host goes on by the one that it applied last", e.Command("config", "validate"))
		if err := e.Answer(map[string]any{"answers": false, "steps": w.steps}, w.print); err != nil {
			return err
		}
		return invalid
	})
}

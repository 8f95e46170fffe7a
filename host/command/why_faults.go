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

// faulty warns of the host's faults of one name whose part begins with about. They may keep
// the answer, and do not end the walk.
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

func (w *path) queue(context.Context) {
	for _, f := range w.status.Faults {
		if f.Name == operator.FaultStuck && f.About == "group "+w.group.Folder {
			w.stop("queue", f.Message, f.Hint)
		}
	}
}

func (w *path) clock(context.Context) {
	w.faulty("clock", operator.FaultClock, "")
}

func (w *path) mounts(context.Context) {
	w.faulty("mounts", operator.FaultMount, "group "+w.group.Folder+", ")
}

// disk checks that messages can be accepted: without room, channels take none.
func (w *path) disk(context.Context) {
	for _, f := range w.status.Faults {
		if f.Name == operator.FaultAccepting {
			w.stop("disk", f.Message, f.Hint)
			return
		}
	}
	w.faulty("disk", operator.FaultDisk, "")
}

// whyUnknownChat answers for a chat that no group has, if somebody called there. It returns
// unknown, the error of the name, if nobody did.
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
		if err := e.Answer(map[string]any{"group": g.Folder, "answers": false, "steps": w.steps}, w.print); err != nil {
			return err
		}
		return &terminal.Error{Code: terminal.ExitFailed, Err: fmt.Errorf("group %s is gone from the file", g.Folder)}
	}
	for _, one := range s.UnknownChats {
		if wanted != one.Chat && wanted != one.Channel+"/"+one.Chat {
			continue
		}
		w := &path{env: e}
		w.stop("group", fmt.Sprintf("the chat %s is not registered: no group has it; %s came from there", one.Chat, media.Count(one.Messages, "message")),
			e.Command("groups", "add", terminal.ShellWord(one.Chat)))
		if err := e.Answer(map[string]any{"group": one.Chat, "answers": false, "steps": w.steps}, w.print); err != nil {
			return err
		}
		return &terminal.Error{Code: terminal.ExitFailed, Err: fmt.Errorf("nobody answers in the chat %s", one.Chat)}
	}
	return unknown
}

// servedAs returns the group that a running host serves under a folder, a name or a chat, and
// that the file has no longer.
func servedAs(s operator.Status, wanted string, file []groups.Group) (operator.Group, bool) {
	i := slices.IndexFunc(s.Groups, func(g operator.Group) bool {
		return (wanted == g.Folder || wanted == g.Name || wanted == g.Chat) && !slices.ContainsFunc(file, func(f groups.Group) bool { return f.Folder == g.Folder })
	})
	if i < 0 {
		return operator.Group{}, false
	}
	return s.Groups[i], true
}

// whyByOlder answers if the file is invalid, with the faults of the host that runs by an
// older one. Without a host, it returns invalid, the error of the file.
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

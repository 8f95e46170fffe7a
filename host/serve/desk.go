package serve

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/assistant"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

func DeskOptions(c *config.Config, version string) operator.DeskOptions {
	return operator.DeskOptions{Layout: c.Layout(), Groups: func() []groups.Group { return c.Groups }, Version: version}
}

// Desk is what the operator gets to see of h. running says that h runs, and
// does not only lend its outbox to a command.
func (h *Host) Desk(running bool) *operator.Desk {
	o := DeskOptions(h.Config(), h.opts.Version)
	o.Groups = func() []groups.Group { return h.Config().Groups }
	o.Outbox, o.Channels, o.Offer = h.Outbox, h.Channels, h.offer
	o.Deciding = func(ctx context.Context, id string, yes bool) error { return h.Bridge.Decide(ctx, id, yes, "operator") }
	o.Running, o.Started = running, h.started
	if running {
		o.Applied, o.Reloading = func() time.Time { return h.Now().Applied }, h.Reload
		o.Schedule = h.tasks
		o.Assistants, o.Ignored, o.Turns = h.assistantsNow, h.ignored, h.turns
		o.Surroundings, o.Recent = h.environment, h.recent
		o.Stopping, o.Quota, o.Inbox, o.Linker = h.stop, h.quota, h.assistants.InboxUse, h.linker
		o.Troubles, o.Refusals, o.Ahead = h.troubles, h.refusals.all, h.clock.ahead
		o.Told = h.told
		o.Floor, o.Notifying, o.Unapplied = h.FreeDisk, h.notifyTest, h.unapplied.Load
		o.Spending = h.spending
		if h.Config().Door.Listen != "" {
			o.Door = h.remote
		}
		o.Stuck = h.spool.Stuck
		o.Strangers, o.Missing, o.Lost, o.Asked = h.knownStrangers, h.goneNow, h.lostGroups, h.asked
		o.Whole = h.LostFiles
		o.Codes, o.Approving = h.door.list, h.approve
	}
	return operator.NewDesk(o)
}

// offer accepts a file of the operator's for a group's chat: a container's
// path as its assistant would, another as the operator's own.
func (h *Host) offer(ctx context.Context, s operator.Send) (outbox.Delivery, error) {
	open := bridge.OpenOwn
	if mounts.InContainer(s.Path) {
		open = h.Bridge.Mounted(s.Group)
	}
	return h.Bridge.SendFor(ctx, s.Group, FileRequest(s), open)
}

// FileRequest is the request that an assistant would write.
func FileRequest(s operator.Send) ipc.Request {
	return ipc.Request{Type: ipc.TypeFile, Thread: s.Thread, Files: []ipc.FileRef{{Path: s.Path, Name: s.Name, Caption: s.Caption, Alt: s.Alt, As: s.As}}}
}

func (h *Host) ignored(folder string) operator.Ignored {
	return operator.Ignored(h.assistants.Ignored(folder))
}

func (h *Host) told() (all []operator.Told) {
	for _, t := range h.assistants.Told() {
		all = append(all, operator.Told(t))
	}
	return all
}

func (h *Host) turns(folder string) operator.Turns {
	return operator.Turns(h.assistants.Turns(folder))
}

func (h *Host) troubles() map[string]int64 {
	all := map[string]int64{}
	for why, n := range h.assistants.Troubles() {
		all[string(why)] = n
	}
	return all
}

func (h *Host) stop(folder string) (s operator.Stopped, err error) {
	s.Turns, s.Waited, err = h.assistants.Stop(folder)
	return s, err
}

func (h *Host) quota() operator.Quota {
	limits := h.Config().Limits
	terms, _ := h.LinkTerms()
	return operator.Quota{Pending: limits.Pending, Bytes: int64(limits.Outbox), Inbox: int64(limits.Inbox), Links: terms.Quota}
}

// environment checks what assistants need by this process's own PATH and user.
func (h *Host) environment(ctx context.Context, folder string) []channel.Finding {
	c := *h.Config()
	if folder != "" {
		c.Groups = slices.DeleteFunc(slices.Clone(c.Groups), func(g groups.Group) bool { return g.Folder != folder })
	}
	return doctor.Environment(ctx, &c, h.opts.Getenv)
}

// assistantsNow describes the assistants that have something to do.
func (h *Host) assistantsNow() []operator.Assistant {
	var all []operator.Assistant
	for _, s := range h.assistants.Status() {
		if s.State == "idle" && s.LastError == "" || s.State == "elsewhere" && s.Thread != "" && s.Kept == 0 {
			continue
		}
		a := operator.Assistant{Group: s.Folder, State: s.State, Started: s.Since, Cause: string(s.Cause), Permanent: s.Cause.Permanent(), Failures: s.Failures, Next: s.Next}
		switch {
		case s.State == "elsewhere":
			a.Detail, a.Fetched = fetches(s), s.Fetched
		case s.State == "idle":
			a.State, a.Detail = "broken", "the last turn failed: "+s.LastError
		case s.Failures == 0 && s.LastError != "":
			a.Detail = "the model does not answer: " + s.LastError
		case s.LastError != "":
			a.Detail = fmt.Sprintf("%s broke in a row, the last with: %s", media.Count(s.Failures, "turn"), s.LastError)
		case s.Kept > 0:
			a.Detail = media.Count(s.Kept, "message") + " to hand over"
		}
		if s.Thread != "" {
			a.Detail = strings.TrimSuffix("in thread "+media.Printable(s.Thread)+": "+a.Detail, ": ")
		}
		all = append(all, a)
	}
	return all
}

// fetches describes an assistant that lives elsewhere.
func fetches(s assistant.Status) string {
	last := "not asked for since the host's start"
	if !s.Fetched.IsZero() {
		last = "last asked for at " + s.Fetched.UTC().Format("2006-01-02 15:04:05 MST")
	}
	wait := "none waits"
	if s.Kept > 0 {
		wait = fmt.Sprintf("%d not acknowledged", s.Kept)
	}
	return "fetches its messages; " + last + "; " + wait
}

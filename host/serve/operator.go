package serve

import (
	"context"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
)

// Local is the operator's Control of h. running says that h runs, and does not only lend
// its outbox to a command.
func (h *Host) Local(running bool) *operator.Local {
	o := operator.Options{Layout: h.Layout, Version: h.opts.Version, Groups: h, Channels: h.Channels, Outbox: h.Outbox, Road: h}
	if running {
		o.Running = &operator.Running{
			Started: h.started, Host: h, Machine: h, Assistants: h.assistants, Models: h, Pairing: h, Queue: h.spool,
			Linker: h.linker, Tasks: h.tasks, Recent: h.recent,
		}
		if h.Config().Remote.Listen != "" {
			o.Running.Remote = h.remote.Tokens
		}
	}
	return operator.NewLocal(o)
}

// openLocal makes the Control that the parts after it share. It is no part; the openers of
// the notifier and the page add theirs to its Running.
func (h *Host) openLocal(context.Context) (Part, error) {
	h.local = h.Local(true)
	return nil, nil
}

// Decide implements operator.Road.
func (h *Host) Decide(ctx context.Context, id string, yes bool) error {
	return h.Bridge.Decide(ctx, id, yes, "operator")
}

// SendFor implements operator.Road: a container's path is opened as the group's assistant
// would, another one as the operator's own.
func (h *Host) SendFor(ctx context.Context, s operator.Send) (outbox.Delivery, error) {
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

// The rest implements operator.Host and operator.Machine.

// Unapplied is why the last reload was refused; nil if it was not.
func (h *Host) Unapplied() *string { return h.unapplied.Load() }

// Refusals counts refused requests by code.
func (h *Host) Refusals() map[string]int64 { return h.refusals.counts() }

// ClockAhead is how far this machine's clock is ahead of the platforms'.
func (h *Host) ClockAhead() (time.Duration, bool) { return h.clock.ahead() }

// Quota is what each group may keep waiting.
func (h *Host) Quota() operator.Quota {
	limits := h.Config().Limits
	terms, _ := h.LinkTerms()
	return operator.Quota{Pending: limits.Pending, Bytes: int64(limits.Outbox), Inbox: int64(limits.Inbox), Links: terms.Quota}
}

// Environment checks what assistants need by this process's own PATH and user.
func (h *Host) Environment(ctx context.Context, folder string) []channel.Finding {
	c := *h.Config()
	if folder != "" {
		c.Groups = slices.DeleteFunc(slices.Clone(c.Groups), func(g groups.Group) bool { return g.Folder != folder })
	}
	return doctor.Environment(ctx, &c, h.opts.Getenv)
}

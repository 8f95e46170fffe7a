package serve

import (
	"context"
	"time"

	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
)

// Local returns the operator's Control of h. running: h runs, and is not only opened for the action of
// a command.
func (h *Host) Local(running bool) *operator.Local {
	o := operator.Options{Layout: h.Layout, Version: h.opts.Version, Groups: h, Channels: h.Channels, Outbox: h.Outbox, Road: h}
	if h.State.Spec.OnServer() {
		o.Trail = audit.Rows(h.State)
	}
	if running {
		o.Parts = newParts(h)
		o.Running = &operator.Running{
			Started: h.started, Host: h, Machine: h, Assistants: h.assistants, Models: h, Pairing: h, Queue: h.spool,
			Linker: h.linker, Tasks: h.tasks, Recent: h.recent,
		}
		if h.opts.Lease != nil && h.Config().Cluster.Name != "" {
			o.Running.Cluster = h.opts.Lease.Host()
		}
		if h.Config().Remote.Listen != "" {
			o.Running.Remote = h.remote.Tokens
		}
	}
	return operator.NewLocal(o)
}

// openLocal makes the Control that the parts after it share, and opens no part. The openers of the
// notifier and of the page add those to its Running.
func (h *Host) openLocal(context.Context) (Part, error) {
	h.local = h.Local(true)
	return nil, nil
}

// Decide implements operator.Road.
func (h *Host) Decide(ctx context.Context, id string, yes bool) error {
	return h.Bridge.Decide(ctx, id, yes, "operator")
}

// SendFor implements operator.Road. It opens a path in the container as the group's assistant would, any
// other path as the operator's own file.
func (h *Host) SendFor(ctx context.Context, s operator.Send) (records.Delivery, error) {
	open := bridge.OpenOwn
	if mounts.InContainer(s.Path) {
		open = h.Bridge.Mounted(s.Group)
	}
	return h.Bridge.SendFor(ctx, s.Group, FileRequest(s), open)
}

// FileRequest returns the request that an assistant would write for s.
func FileRequest(s operator.Send) ipc.Request {
	return ipc.Request{Type: ipc.TypeFile, Thread: s.Thread, Files: []ipc.FileRef{{Path: s.Path, Name: s.Name, Caption: s.Caption, Alt: s.Alt, As: s.As}}}
}

// Refusals returns how many requests were refused, by code.
func (h *Host) Refusals() map[string]int64 { return h.refusals.counts() }

// ClockAhead returns how far this machine's clock is ahead of the platforms'; false if unknown.
func (h *Host) ClockAhead() (time.Duration, bool) { return h.clock.ahead() }

// Quota returns how much of each group may wait.
func (h *Host) Quota() operator.Quota {
	limits := h.Config().Limits
	terms, _ := h.LinkTerms()
	return operator.Quota{Pending: limits.Pending, Bytes: int64(limits.Outbox), Inbox: int64(limits.Inbox), Links: terms.Quota}
}

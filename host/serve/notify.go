package serve

import (
	"context"
	"os"

	"github.com/longshore-bridge/longshore/host/notify"
)

// notifierPart tells the operator of lasting faults.
type notifierPart struct {
	noApply
	noClose
	*notify.Notifier
}

func (h *Host) openNotifier(context.Context) (Part, error) {
	name, err := os.Hostname()
	if err != nil {
		name = "this machine"
	}
	h.notifier = notify.New(notify.Options{
		State: h.State, Host: name, Log: h.opts.Log,
		Watched: h.local, Settings: notify.Configured{Now: h, Chats: h.Bridge},
	})
	h.local.Running.Notifier = h.notifier
	return notifierPart{Notifier: h.notifier}, nil
}

func (p notifierPart) Run(ctx context.Context) error { p.Notifier.Run(ctx); return nil }

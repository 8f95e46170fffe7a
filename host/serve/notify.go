package serve

import (
	"context"
	"os"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/httpd"
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
	h.local = h.Local(true)
	h.notifier = notify.New(notify.Options{
		File: h.Layout.Notified(), Host: name, Log: h.opts.Log,
		Faults:  h.local.Faults,
		After:   func() time.Duration { return h.Config().Notify.After.Std() },
		Targets: h.notified,
	})
	h.local.Running.Notifier = h.notifier
	return notifierPart{Notifier: h.notifier}, nil
}

func (p notifierPart) Run(ctx context.Context) error { p.Notifier.Run(ctx); return nil }

// notified are the targets of the configuration in force.
func (h *Host) notified() (all []notify.Target) {
	n := h.Config().Notify
	if n.Group != "" {
		all = append(all, notify.Chat(n.Group, h.Bridge.Tell))
	}
	if keys, err := httpd.ParseWebhookKeys(n.Webhook.Secret.Reveal()); err == nil && n.Webhook.URL != "" {
		all = append(all, notify.Webhook(n.Webhook.URL, keys))
	}
	if n.Ntfy.Topic != "" {
		all = append(all, notify.Ntfy(n.Ntfy.Server, n.Ntfy.Topic, n.Ntfy.Token.Reveal()))
	}
	return all
}

package serve

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/httpd"
	"github.com/longshore-bridge/longshore/host/notify"
	"github.com/longshore-bridge/longshore/host/operator"
)

// newNotifier makes what tells the operator of lasting faults.
func (h *Host) newNotifier() *notify.Notifier {
	name, err := os.Hostname()
	if err != nil {
		name = "this machine"
	}
	local := sync.OnceValue(func() *operator.Local { return h.Local(true) })
	return notify.New(notify.Options{
		File: h.Layout.Notified(), Host: name, Log: h.opts.Log,
		Faults:  func(ctx context.Context) operator.Faults { return local().Faults(ctx) },
		After:   func() time.Duration { return h.Config().Notify.After.Std() },
		Targets: h.notified,
	})
}

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

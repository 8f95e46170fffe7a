package notify

import (
	"time"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/httpd"
)

// Configured are the Settings of the configuration in force.
type Configured struct {
	Now interface {
		Config() *config.Config
	}
	Chats Teller
}

// After implements Settings.
func (c Configured) After() time.Duration { return c.Now.Config().Notify.After.Std() }

// Targets implements Settings.
func (c Configured) Targets() (all []Target) {
	n := c.Now.Config().Notify
	if n.Group != "" {
		all = append(all, Chat{n.Group, c.Chats})
	}
	if keys, err := httpd.ParseWebhookKeys(n.Webhook.Secret.Reveal()); err == nil && n.Webhook.URL != "" {
		all = append(all, Webhook{n.Webhook.URL, keys})
	}
	if n.Ntfy.Topic != "" {
		all = append(all, Ntfy{n.Ntfy.Server, n.Ntfy.Topic, n.Ntfy.Token.Reveal()})
	}
	return all
}

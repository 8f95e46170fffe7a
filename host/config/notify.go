package config

import (
	"fmt"
	"net/url"
	"slices"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/internal/near"
)

// Notify is where the host tells of its lasting faults.
type Notify struct {
	After   Duration      `yaml:"after" above:"0" max:"24h" help:"How long a fault lasts before it is told, and how long it is gone before that is told."`
	Group   string        `yaml:"group" help:"Folder of the group whose chat is told."`
	Webhook NotifyWebhook `yaml:"webhook" help:"Address that gets signed POSTs."`
	Ntfy    NotifyNtfy    `yaml:"ntfy" help:"Topic of an ntfy server."`
}

// NotifyWebhook is an address that gets each message as JSON.
type NotifyWebhook struct {
	URL        string `yaml:"url" form:"url" help:"The whole address."`
	Secret     Secret `yaml:"secret" help:"Signs the messages, from the environment: whsec_ and the base64 of 24 to 64 bytes."`
	SecretFile string `yaml:"secret_file" help:"File that holds the secret."`
}

// NotifyNtfy is a topic of an ntfy server.
type NotifyNtfy struct {
	Server    string `yaml:"server" form:"url" help:"The server's address."`
	Topic     string `yaml:"topic" form:"topic" help:"The topic. Who knows it can read along, unless the server asks for a token."`
	Token     Secret `yaml:"token" help:"Access token, from the environment."`
	TokenFile string `yaml:"token_file" help:"File that holds the token."`
}

const makeWebhookSecret = "make one with: echo whsec_$(openssl rand -base64 32)"

// notify checks that each target is whole, and reads the secrets.
func (c *checker) notify() {
	n := &c.cfg.Notify
	if n.Group != "" && !slices.ContainsFunc(c.cfg.Groups, func(g groups.Group) bool { return g.Folder == n.Group }) {
		var folders []string
		for _, g := range c.cfg.Groups {
			folders = append(folders, g.Folder)
		}
		c.bad("notify.group", fmt.Sprintf("there is no group %q", n.Group), near.Hint(n.Group, folders, "write the folder of one of groups:"))
	}
	const hook, ntfy = "notify.webhook", "notify.ntfy"
	c.token(hook+".secret", &n.Webhook.Secret, n.Webhook.SecretFile)
	switch signed := c.has(hook+".secret") || c.has(hook+".secret_file"); {
	case n.Webhook.URL == "" && signed:
		c.bad(hook, "there is a secret and no url", "add url: the address that is to be told")
	case n.Webhook.URL != "" && !signed:
		c.bad(hook, "the messages are not signed", "set secret: ${NAME} or secret_file:; "+makeWebhookSecret)
	case n.Webhook.Secret.Reveal() != "": // else only the service has it
		if _, err := httpd.ParseWebhookKeys(n.Webhook.Secret.Reveal()); err != nil {
			c.bad(hook+".secret", err.Error(), makeWebhookSecret)
		}
	}
	c.told(hook+".url", n.Webhook.URL)
	c.token(ntfy+".token", &n.Ntfy.Token, n.Ntfy.TokenFile)
	if n.Ntfy.Topic == "" && c.has(ntfy) {
		c.bad(ntfy, "there is no topic", "add topic: a name that is hard to guess")
	}
	if n.Ntfy.Topic != "" {
		c.told(ntfy+".server", n.Ntfy.Server)
	}
}

// told checks an address that the host posts faults to.
func (c *checker) told(key, address string) {
	u, err := url.Parse(address)
	switch {
	case address == "":
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "":
		c.bad(key, "this is no web address", "write it whole, without a user: https://alerts.example.org/longshore")
	case u.Scheme == "http" && !httpd.Loopback(u.Hostname()):
		c.warn(key, "what is wrong with the host goes over the network unencrypted", "use https, or a service on this machine")
	}
}

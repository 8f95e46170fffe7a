// Package push is the channel to a program of the operator's own, the receiver: each message is one
// signed POST to its URL, and it posts back what members write, as docs/push.md describes.
//
// The signature of a message with files covers the JSON before them, which has the
// SHA-256 of each: so a file is streamed. A reply is durable before its answer.
package push

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/host/httpd"
)

// Push is the channel. New of its Platform makes one.
type Push struct {
	*bot.Bot
	settings      *Settings
	keys          httpd.WebhookKeys
	poster, files *http.Client
	running       atomic.Bool
}

// New makes the channel of a configuration, and opens nothing.
func (platform) New(s channel.Setup) (channel.Channel, error) {
	set := s.Settings.(*Settings)
	keys, noKeys := httpd.ParseWebhookKeys(set.Secret.Reveal())
	poster, noPoster := set.poster()
	files, noFiles := set.files()
	if err := errors.Join(noKeys, noPoster, noFiles); err != nil {
		return nil, fmt.Errorf("channel %s: %w", s.Name, err)
	}
	return &Push{Bot: bot.New(s, bot.Kind{YAML: platformKey, People: s.Name}, 2*httpd.WebhookWindow), settings: set, keys: keys, poster: poster, files: files}, nil
}

// Owns says whether chat has the form push:name.
func (p *Push) Owns(chat groups.JID) bool { return platform{}.Owns(chat) }

// Repeat is the receiver's promise to show a webhook-id once.
func (p *Push) Repeat() channel.Repeat { return channel.Repeat{Keyed: channel.Forever} }

// Run takes replies until ctx is done. While another process has the store or the
// address, it tries again, and Send sends.
func (p *Push) Run(ctx context.Context, in channel.Inbox) error {
	p.running.Store(true)
	defer p.running.Store(false)
	defer p.poster.CloseIdleConnections()
	defer p.files.CloseIdleConnections()
	return p.Bot.Run(ctx, in, p)
}

// Connect implements bot.Hooks: it takes replies until ctx is done.
func (p *Push) Connect(ctx context.Context, o *bot.Open, up func(string)) error {
	l, err := httpd.Address{Listen: p.settings.Listen, Token: p.settings.Secret.Reveal()}.Open()
	if err != nil {
		return &link.Stop{Code: "push_stopped", Message: "replies cannot be taken", Hint: err.Error(), Wait: link.After(10 * time.Second)}
	}
	up("takes replies at " + httpd.URL(l.Addr()))
	guard := httpd.NewGuard(l.Addr(), "name it under host in longshore.yaml", p.settings.Listen, p.settings.Host)
	return (&httpd.Server{Handler: p.handler(guard, o.Journal), Log: p.Log, Grace: 5 * time.Second}).Serve(ctx, l)
}

// Fetch brings a member's file. Its Ref is its address and its reply's own Ref.
// Only what files_from lists is asked.
func (p *Push) Fetch(ctx context.Context, f channel.FileRef) (io.ReadCloser, error) {
	open := p.Open()
	if open == nil {
		return nil, &channel.Error{Class: channel.Held, Code: "not_connected", Message: "the channel does not run", Hint: channel.Again}
	}
	address, _, err := open.Kept(ctx, f)
	if err != nil {
		return nil, err
	}
	return open.Scratch.Get(ctx, p.files, address, int64(p.settings.MaxFile), transfer.SpeedFor(f.Patient))
}

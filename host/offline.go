package main

import (
	"context"
	"log/slog"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// offline stands for a channel while no host runs: it says what the channel
// would take, and sends nothing.
type offline struct {
	name   string
	limits media.Limits
}

var _ channel.Channel = offline{}

// offlineChannels are the configured channels, none of them connected.
func offlineChannels(c *groups.Config) []channel.Channel {
	var all []channel.Channel
	if c.Channels.Web != nil {
		all = append(all, offline{"web", media.DefaultLimits()})
	}
	if c.Channels.WhatsApp != nil {
		if w, err := newWhatsApp(c, slog.New(slog.DiscardHandler), nil); err == nil {
			all = append(all, offline{w.Name(), w.Limits()})
		}
	}
	return all
}

func (o offline) Name() string              { return o.name }
func (o offline) Owns(chat groups.JID) bool { return chat.Channel() == o.name }
func (o offline) Limits() media.Limits      { return o.limits }
func (o offline) Connected() (bool, string) { return false, "no host is running" }

func (o offline) Run(ctx context.Context, _ channel.Inbox) error {
	<-ctx.Done()
	return nil
}

func (o offline) Send(context.Context, channel.Message) (channel.Receipt, error) {
	return channel.Receipt{}, &channel.Error{Class: channel.Held, Code: "no_host", Message: "no host is running"}
}

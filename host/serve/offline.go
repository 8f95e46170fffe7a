package serve

import (
	"cmp"
	"context"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/media"
)

// offline stands for a channel while no host runs, or something keeps the channel down: it has the
// channel's limits, and sends nothing.
type offline struct {
	config.Channel
	limits media.Limits
	why    string // empty: no host is running
	failed error  // that Run returns, to be made anew; nil: Run waits
}

// OfflineChannels returns the configured channels, none of which connects or sends.
func OfflineChannels(c *config.Config) (all []channel.Channel) {
	for _, one := range c.Channels {
		all = append(all, offline{one, one.Settings.Limits(), "", nil})
	}
	return all
}

func (o offline) Name() string              { return o.Channel.Name }
func (o offline) Owns(chat groups.JID) bool { return o.Platform.Owns(chat) }
func (o offline) Limits() media.Limits      { return o.limits }
func (o offline) Repeat() channel.Repeat    { return channel.Repeat{} }
func (o offline) Connected() (bool, string) { return false, cmp.Or(o.why, "no host is running") }

func (o offline) Run(ctx context.Context, _ channel.Inbox) error {
	if o.failed == nil {
		<-ctx.Done()
	}
	return o.failed
}

func (o offline) Send(context.Context, channel.Message) (channel.Receipt, error) {
	return channel.Receipt{}, o.Held()
}

// Held implements channel.StandIn.
func (o offline) Held() error {
	if o.why == "" {
		return &channel.Error{Class: channel.Held, Code: "no_host", Message: "no host is running"}
	}
	return &channel.Error{Class: channel.Held, Code: "channel_down", Message: "the channel is down", Hint: "it is sent as soon as the operator has seen to it"}
}

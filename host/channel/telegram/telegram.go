// Package telegram is the channel to a Telegram bot of the operator's own, by the Bot
// API (https://core.telegram.org/bots/api), and long polling or a webhook.
//
// Telegram takes no key for a repeat and answers no question about what was sent: the
// channel is blind. A request whose body was not wholly read was not carried out.
package telegram

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/pace"
	"github.com/longshore-bridge/longshore/media"
)

var (
	_ channel.Applier   = (*Telegram)(nil)
	_ channel.Editor    = (*Telegram)(nil)
	_ channel.Fetcher   = (*Telegram)(nil)
	_ channel.Linker    = platform{}
	_ channel.PollEnder = (*Telegram)(nil)
	_ channel.Preparer  = (*Telegram)(nil)
	_ channel.Reactor   = (*Telegram)(nil)
	_ channel.Roles     = (*Telegram)(nil)
	_ channel.Status    = (*Telegram)(nil)
	_ channel.Typing    = (*Telegram)(nil)
	_ channel.Unsender  = (*Telegram)(nil)
)

// Telegram is the channel. New of its Platform makes one.
type Telegram struct {
	*bot.Bot
	settings   *Settings
	api        *api
	pacer      *pace.Pacer
	moved      moved
	membership membership
	present    *present
	self       atomic.Pointer[user] // once Telegram has said who the bot is
}

// New makes the channel of a configuration, and opens nothing.
func (platform) New(s channel.Setup) (channel.Channel, error) { return newOf(s) }

func newOf(s channel.Setup) (*Telegram, error) {
	set := s.Settings.(*Settings)
	b := bot.New(s, "Telegram", time.Hour)
	a, err := newAPI(set, b.Host)
	if err != nil {
		return nil, fmt.Errorf("channel %s: %w", s.Name, err)
	}
	t := &Telegram{Bot: b, settings: set, api: a, pacer: pace.New(set.rates()), present: newPresent()}
	t.Apply(s)
	return t, nil
}

// Apply implements channel.Applier: the groups' chats and the rate change.
func (t *Telegram) Apply(to channel.Setup) {
	t.SetChats(to)
	t.pacer.Set(to.Settings.(*Settings).rates())
}

// Owns says whether chat has the form tg:number.
func (t *Telegram) Owns(chat groups.JID) bool { return owns(chat) }

// Limits is what Send takes.
func (t *Telegram) Limits() media.Limits { return t.settings.Limits() }

// Repeat is that Telegram looks at no id.
func (t *Telegram) Repeat() channel.Repeat { return channel.Repeat{} }

// Connected says whether updates come in, for whom, and what somebody has to see to.
func (t *Telegram) Connected() (ok bool, detail string) {
	ok, detail = t.Bot.Connected()
	for _, trouble := range []string{t.membership.trouble(), t.moved.trouble(t.Serves)} {
		if ok && trouble != "" {
			detail += "; " + trouble
		}
	}
	return ok, detail
}

// Run hears updates until ctx is done. While the token is missing or refused, or
// another program polls for the bot, it waits and Send is held.
func (t *Telegram) Run(ctx context.Context, in channel.Inbox) error {
	defer t.api.client.CloseIdleConnections()
	return t.Bot.Run(ctx, in, t)
}

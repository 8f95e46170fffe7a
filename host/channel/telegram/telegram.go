// Package telegram is the channel to a Telegram bot of the operator's own. It uses the Bot API
// (https://core.telegram.org/bots/api), with long polling or a webhook.
//
// Telegram has no key for a repeated message and does not say what was sent: the channel is blind.
// It does not carry out a request whose body it has not read to the end.
package telegram

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/webapi"
)

var (
	_ bot.Account      = (*Telegram)(nil)
	_ channel.Preparer = (*Telegram)(nil)
	_ channel.Linker   = platform{}
	_ bot.Paired       = (*Telegram)(nil)
)

// Telegram is the channel. New of its Platform makes one.
type Telegram struct {
	*bot.Bot
	settings *Settings
	api      *webapi.API
	moved    moved
	present  *present
	self     atomic.Pointer[user] // once Telegram has said who the bot is
}

// New makes the channel of a configuration, and opens nothing.
func (platform) New(s channel.Setup) (channel.Channel, error) { return newOf(s) }

func newOf(s channel.Setup) (*Telegram, error) {
	set := s.Settings.(*Settings)
	b := bot.New(s, account, time.Hour)
	a, err := newAPI(set, b.Host)
	if err != nil {
		return nil, fmt.Errorf("channel %s: %w", s.Name, err)
	}
	return &Telegram{Bot: b, settings: set, api: a, present: newPresent()}, nil
}

// Owns reports whether chat has the form tg:number.
func (t *Telegram) Owns(chat groups.JID) bool { return owns(chat) }

// Repeat says that Telegram ignores a Message.ID.
func (t *Telegram) Repeat() channel.Repeat { return channel.Repeat{} }

// Connected reports whether updates come in. detail also names what the operator should fix.
func (t *Telegram) Connected() (ok bool, detail string) {
	ok, detail = t.Bot.Connected()
	if trouble := t.moved.trouble(t.Serves); ok && trouble != "" {
		detail += "; " + trouble
	}
	return ok, detail
}

// Run receives updates until ctx is done. While the token is missing or refused, or another program
// polls for the bot, it waits, and Send returns a Held error.
func (t *Telegram) Run(ctx context.Context, in channel.Inbox) error {
	defer t.Close()
	return t.Bot.Run(ctx, in, t)
}

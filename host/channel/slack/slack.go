// Package slack is the channel to a Slack workspace: an app of the operator's own, which receives
// events by Socket Mode and sends by the Web API.
//
// The journal has events until the host has them, the threads that the assistant spoke in, its
// questions and their votes.
//
// Slack has no key for a repeated message. A text has its id as metadata, by which Find looks for it
// in the chat. A file gets an id of Slack's before its bytes are sent; the ids are saved, and
// files.info says whether the chat has them.
package slack

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/emoji"
	"github.com/longshore-bridge/longshore/host/channel/slack/decode"
	"github.com/longshore-bridge/longshore/internal/cache"
)

var (
	_ bot.Account    = (*Slack)(nil)
	_ channel.Finder = (*Slack)(nil)
	_ channel.Lister = (*Slack)(nil)
	_ channel.Linker = platform{}
	_ bot.Paired     = (*Slack)(nil)
)

// Slack is the channel. New of its Platform makes one.
type Slack struct {
	*bot.Bot
	settings *Settings
	api      *api
	people   cache.Map[string, known]
	threads  threads
	signs    workingSigns
	emojis   emoji.Names
	polls    *bot.Polls
	forShare time.Duration        // Send waits so long for the chat to have a file
	recount  time.Duration        // as in recountAfter
	rivals   atomic.Int32         // so many times in a row Slack has counted other connections, too
	self     atomic.Pointer[self] // once Slack has said who the bot is
}

// New makes the channel of a configuration, and opens nothing.
func (p platform) New(s channel.Setup) (channel.Channel, error) { return newOf(s, p.net) }

func newOf(s channel.Setup, net Net) (*Slack, error) {
	set := s.Settings.(*Settings)
	b := bot.New(s, account, time.Hour)
	a, err := newAPI(set, net, b.Host)
	if err != nil {
		return nil, fmt.Errorf("channel %s: %w", s.Name, err)
	}
	return &Slack{Bot: b, settings: set, api: a, emojis: emoji.NewNames(), polls: bot.NewPolls(), forShare: shareWithin, recount: recountAfter}, nil
}

// Owns reports whether chat has the form of a channel or a direct message.
func (s *Slack) Owns(chat groups.JID) bool { return decode.Owns(chat) }

// Repeat says that Slack ignores a Message.ID; see Find.
func (s *Slack) Repeat() channel.Repeat { return channel.Repeat{} }

// Run receives events until ctx is done. While a token is missing or refused, or another process
// has the store, it waits, and Send returns a Held error.
func (s *Slack) Run(ctx context.Context, in channel.Inbox) error {
	defer s.Close()
	return s.Bot.Run(ctx, in, s)
}

// Beside implements bot.Hooks: it draws votes.
func (s *Slack) Beside(ctx context.Context, o *bot.Open) {
	s.polls.Redraw(ctx, o, s.Log, func(ctx context.Context, chat groups.JID, ts string, q *bot.Poll) error {
		return s.drawPoll(ctx, chat, ts, q, "")
	})
}

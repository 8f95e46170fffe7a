// Package slack is the channel to a Slack workspace: an app of the operator's own
// that hears by Socket Mode and speaks by the Web API.
//
// The journal has events until the host has them, the threads that the assistant spoke in, its
// questions and their votes.
//
// Slack takes no key for a repeat. A text carries its id as metadata and is looked
// for in the chat. A file has a number from Slack before its bytes go up; the
// numbers are saved, and files.info says whether the chat has them.
//
// Reading goes through slack-go. What shows something in a chat is posted by
// transfer.Post, which knows whether Slack had the whole request.
package slack

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
	_ channel.Applier   = (*Slack)(nil)
	_ channel.Editor    = (*Slack)(nil)
	_ channel.Fetcher   = (*Slack)(nil)
	_ channel.Linker    = platform{}
	_ channel.Finder    = (*Slack)(nil)
	_ channel.Lister    = (*Slack)(nil)
	_ channel.PollEnder = (*Slack)(nil)
	_ channel.Reactor   = (*Slack)(nil)
	_ channel.Status    = (*Slack)(nil)
	_ channel.Typing    = (*Slack)(nil)
	_ channel.Unsender  = (*Slack)(nil)
)

// Slack is the channel. New of its Platform makes one.
type Slack struct {
	*bot.Bot
	settings *Settings
	api      *api
	pacer    *pace.Pacer
	people   people
	threads  threads
	signs    workingSigns
	emojis   emojis
	polls    *bot.Polls
	forShare time.Duration        // Send waits so long for the chat to have a file
	self     atomic.Pointer[self] // once Slack has said who the bot is
	trouble  atomic.Pointer[trouble]
}

// New makes the channel of a configuration, and opens nothing.
func (p platform) New(s channel.Setup) (channel.Channel, error) { return newOf(s, p.net) }

func newOf(s channel.Setup, net Net) (*Slack, error) {
	set := s.Settings.(*Settings)
	b := bot.New(s, "Slack", time.Hour)
	a, err := newAPI(set, net, b.Host)
	if err != nil {
		return nil, fmt.Errorf("channel %s: %w", s.Name, err)
	}
	c := &Slack{Bot: b, settings: set, api: a, pacer: pace.New(set.rates()), emojis: newEmojis(), polls: bot.NewPolls(), forShare: shareWithin}
	c.Apply(s)
	return c, nil
}

// Apply implements channel.Applier: the groups' chats and the rate change.
func (s *Slack) Apply(to channel.Setup) {
	s.SetChats(to)
	s.pacer.Set(to.Settings.(*Settings).rates())
}

// Owns says whether chat is a channel, a private channel or a direct message.
func (s *Slack) Owns(chat groups.JID) bool { return owns(chat) }

// Limits is what Send takes.
func (s *Slack) Limits() media.Limits { return s.settings.Limits() }

// Repeat is that Slack looks at no id: Find does.
func (s *Slack) Repeat() channel.Repeat { return channel.Repeat{} }

// Connected says whether events come in, as whom, and what somebody has to see to.
func (s *Slack) Connected() (ok bool, detail string) {
	ok, detail = s.Bot.Connected()
	if t := s.trouble.Load(); ok && t != nil {
		detail += "; " + t.text
	}
	return ok, detail
}

// Run hears events until ctx is done. While a token is missing or refused, or
// another process has the store, it waits and Send is held.
func (s *Slack) Run(ctx context.Context, in channel.Inbox) error {
	defer s.api.close()
	return s.Bot.Run(ctx, in, s)
}

// Beside implements bot.Hooks: it draws votes.
func (s *Slack) Beside(ctx context.Context, o *bot.Open) {
	s.polls.Redraw(ctx, o, s.Log, func(ctx context.Context, chat groups.JID, ts string, q *bot.Poll) error {
		return s.drawPoll(ctx, chat, ts, q, "")
	})
}

// Package slack is the channel to a Slack workspace: an app of the operator's own, which receives
// events by Socket Mode and sends by the Web API.
//
// The journal has events until the host has them, the threads that the assistant spoke in, its
// questions and their votes.
//
// Slack has no key for a repeated message. A text has its id as metadata, by which Find looks for it
// in the chat. A file gets an id of Slack's before its bytes are sent; the ids are saved, and
// files.info says whether the chat has them.
//
// slack-go makes the requests that only read. Requests that show something in a chat go through
// transfer.Post, which knows whether the whole request was sent.
package slack

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/slack/decode"
)

var (
	_ bot.Account    = (*Slack)(nil)
	_ channel.Finder = (*Slack)(nil)
	_ channel.Lister = (*Slack)(nil)
	_ channel.Linker = platform{}
)

// Slack is the channel. New of its Platform makes one.
type Slack struct {
	*bot.Bot
	settings *Settings
	api      *api
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
	b := bot.New(s, bot.Kind{YAML: platformKey, People: platformName, Tokens: noTokens}, time.Hour)
	a, err := newAPI(set, net, b.Host)
	if err != nil {
		return nil, fmt.Errorf("channel %s: %w", s.Name, err)
	}
	return &Slack{Bot: b, settings: set, api: a, emojis: newEmojis(), polls: bot.NewPolls(), forShare: shareWithin}, nil
}

// Owns reports whether chat has the form of a channel or a direct message.
func (s *Slack) Owns(chat groups.JID) bool { return decode.Owns(chat) }

// Repeat says that Slack ignores a Message.ID; see Find.
func (s *Slack) Repeat() channel.Repeat { return channel.Repeat{} }

// Connected reports whether events come in. detail also names what somebody should fix in Slack.
func (s *Slack) Connected() (ok bool, detail string) {
	ok, detail = s.Bot.Connected()
	if t := s.trouble.Load(); ok && t != nil {
		detail += "; " + t.text
	}
	return ok, detail
}

// Run receives events until ctx is done. While a token is missing or refused, or another process
// has the store, it waits, and Send returns a Held error.
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

// Package slack is the channel to a Slack workspace: an app of the operator's own
// that hears by Socket Mode and speaks by the Web API.
//
//	channels/<name>/slack-messages.db   events until the host has them; the threads that the assistant spoke in, its questions and their votes
//	channels/<name>/slack.lock          held by the one process that runs the channel
//	channels/<name>/tmp/                members' files on their way; without a name, swept at start
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
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/pace"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/media"
)

var (
	_ channel.Applier   = (*Slack)(nil)
	_ channel.Editor    = (*Slack)(nil)
	_ channel.Fetcher   = (*Slack)(nil)
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
	channel.Setup
	settings *Settings
	web      *web
	link     *link.Link
	pacer    *pace.Pacer
	people   people
	threads  threads
	signs    signs
	emojis   emojis
	polls    polls
	chats    atomic.Pointer[[]channel.NamedChat]
	self     atomic.Pointer[self] // once Slack has said who the bot is
	trouble  atomic.Pointer[trouble]
	open     atomic.Pointer[opened] // while Run has it open
}

// opened is what Run opens. A Send that entered the gate has it until its end.
type opened struct {
	journal *journal.Journal
	scratch *transfer.Scratch
	gate    *link.Gate
}

// newOf makes the channel of a configuration, and opens nothing.
func newOf(s channel.Setup, net Net) (*Slack, error) {
	set := s.Settings.(*Settings)
	w, err := newWeb(set, net)
	if err != nil {
		return nil, fmt.Errorf("channel %s: %w", s.Name, err)
	}
	s.Log = s.Log.With("channel", s.Name)
	c := &Slack{Setup: s, settings: set, web: w, link: link.New("Slack", s.Log), pacer: pace.New(set.rates()), emojis: newEmojis()}
	c.polls.news = make(chan struct{}, 1)
	c.Apply(s)
	return c, nil
}

// Apply implements channel.Applier: the groups' chats and the rate change.
func (s *Slack) Apply(to channel.Setup) {
	s.chats.Store(&to.Chats)
	s.pacer.Set(to.Settings.(*Settings).rates())
}

// counts says whether a chat is one of the groups'.
func (s *Slack) counts(chat groups.JID) bool {
	return slices.ContainsFunc(*s.chats.Load(), func(c channel.NamedChat) bool { return c.JID == chat })
}

// Name is what longshore.yaml calls the channel.
func (s *Slack) Name() string { return s.Setup.Name }

// Owns says whether chat is a channel, a private channel or a direct message.
func (s *Slack) Owns(chat groups.JID) bool { return owns(chat) }

// Limits is what Send takes.
func (s *Slack) Limits() media.Limits { return s.settings.limits() }

// Repeat is that Slack looks at no id: Find does.
func (s *Slack) Repeat() channel.Repeat { return channel.Repeat{} }

// Connected says whether events come in, as whom, and what somebody has to see to.
func (s *Slack) Connected() (ok bool, detail string) {
	ok, detail = s.link.Connected()
	if t := s.trouble.Load(); ok && t != nil {
		detail += "; " + t.text
	}
	return ok, detail
}

// Run hears events until ctx is done. While a token is missing or refused, or
// another process has the store, it waits and Send is held.
func (s *Slack) Run(ctx context.Context, in channel.Inbox) error {
	defer s.web.close()
	return s.link.Run(ctx, func(ctx context.Context) error { return s.serve(ctx, in) })
}

func (s *Slack) serve(ctx context.Context, in channel.Inbox) (err error) {
	spec := specOf(s.Setup)
	lock, err := store.Lock(spec)
	if err != nil {
		return &link.Stop{Code: "slack_in_use", Message: "the channel's store cannot be had", Hint: err.Error(), Wait: link.After(10 * time.Second)}
	}
	defer lock.Close()
	j, err := journal.Open(ctx, spec, journal.Options{Room: s.Room, Fresh: time.Hour, Log: s.Log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	scratch, err := transfer.OpenScratch(filepath.Join(s.Dir, "tmp"), s.Reserve)
	if err != nil {
		return err
	}
	gate := link.NewGate(ctx)
	defer gate.Close()
	open := &opened{j, scratch, gate}
	s.open.Store(open)
	defer s.open.Store(nil)
	var hand sync.WaitGroup
	defer hand.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	hand.Go(func() { s.redraw(ctx, open) })
	hand.Go(func() { j.Hand(ctx, func(ctx context.Context, m journal.Inbound) error { return s.give(ctx, in, m) }) })
	return s.link.Stay(ctx, func(ctx context.Context, up func(string)) error { return s.connect(ctx, j, up) })
}

// enter is for a Send or a question of the host: what Run has open stays open
// until leave.
func (s *Slack) enter(ctx context.Context) (_ context.Context, o *opened, leave func(), err error) {
	if err := s.link.Held(); err != nil {
		return nil, nil, nil, err
	}
	if o = s.open.Load(); o != nil {
		if inner, leave, ok := o.gate.Enter(ctx); ok {
			return inner, o, leave, nil
		}
	}
	return nil, nil, nil, link.Lost("Slack", nil)
}

// Package discord is the channel to Discord: a bot of the operator's own that hears
// by the gateway and speaks by the HTTP API.
//
//	channels/<name>/discord-messages.db   events until the host has them; what was sent, and until when the gateway was heard
//	channels/<name>/discord.lock          held by the one process that runs the channel
//	channels/<name>/tmp/                  members' files on their way; without a name, swept at start
//
// Discord knows a message's nonce for a few minutes. After that, Find looks for the
// message in the chat, among those of the bot that the journal does not know as others.
//
// An event counts as heard only when it is durable, so a resumed session brings what
// was not. A new session asks each chat for what was written since the last one.
package discord

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
	_ channel.Applier  = (*Discord)(nil)
	_ channel.Editor   = (*Discord)(nil)
	_ channel.Fetcher  = (*Discord)(nil)
	_ channel.Finder   = (*Discord)(nil)
	_ channel.Lister   = (*Discord)(nil)
	_ channel.Reactor  = (*Discord)(nil)
	_ channel.Roles    = (*Discord)(nil)
	_ channel.Status   = (*Discord)(nil)
	_ channel.Typing   = (*Discord)(nil)
	_ channel.Unsender = (*Discord)(nil)
)

// Discord is the channel. New of its Platform makes one.
type Discord struct {
	channel.Setup
	settings *Settings
	web      *web
	link     *link.Link
	pacer    *pace.Pacer
	world    world
	refusals refusals
	chats    atomic.Pointer[[]channel.NamedChat]
	self     atomic.Pointer[self]   // once Discord has said who the bot is
	open     atomic.Pointer[opened] // while Run has it open
}

// opened is what Run opens. A Send that entered the gate has it until its end.
type opened struct {
	journal *journal.Journal
	scratch *transfer.Scratch
	gate    *link.Gate
}

// newOf makes the channel of a configuration, and opens nothing.
func newOf(s channel.Setup, net Net) (*Discord, error) {
	set := s.Settings.(*Settings)
	w, err := newWeb(set, net)
	if err != nil {
		return nil, fmt.Errorf("channel %s: %w", s.Name, err)
	}
	s.Log = s.Log.With("channel", s.Name)
	d := &Discord{Setup: s, settings: set, web: w, link: link.New("Discord", s.Log), pacer: pace.New(set.rates())}
	d.Apply(s)
	return d, nil
}

// Apply implements channel.Applier: the groups' chats and the rate change.
func (d *Discord) Apply(to channel.Setup) {
	d.chats.Store(&to.Chats)
	d.pacer.Set(to.Settings.(*Settings).rates())
	d.refusals.forget("")
}

// counts says whether a chat is one of the groups'.
func (d *Discord) counts(chat groups.JID) bool {
	return slices.ContainsFunc(*d.chats.Load(), func(c channel.NamedChat) bool { return c.JID == chat })
}

// Name is what longshore.yaml calls the channel.
func (d *Discord) Name() string { return d.Setup.Name }

// Owns says whether chat is a channel or a direct message.
func (d *Discord) Owns(chat groups.JID) bool { return owns(chat) }

// Limits is what Send takes. A server whose boost level is lower than the settings
// say takes smaller files: Send refuses others before their first byte.
func (d *Discord) Limits() media.Limits { return d.settings.limits() }

// Repeat is how long a nonce counts: "the past few minutes", of which two are
// believed.
func (d *Discord) Repeat() channel.Repeat { return channel.Repeat{Keyed: 2 * time.Minute} }

// Connected says whether events come in, as whom, and what somebody has to see to.
func (d *Discord) Connected() (ok bool, detail string) {
	ok, detail = d.link.Connected()
	if trouble := d.refusals.latest(); ok && trouble != "" {
		detail += "; " + trouble
	}
	return ok, detail
}

// Run hears events until ctx is done. While the token is missing or refused, or
// another process has the store, it waits and Send is held.
func (d *Discord) Run(ctx context.Context, in channel.Inbox) error {
	defer d.web.close()
	return d.link.Run(ctx, func(ctx context.Context) error { return d.serve(ctx, in) })
}

func (d *Discord) serve(ctx context.Context, in channel.Inbox) (err error) {
	spec := specOf(d.Setup)
	lock, err := store.Lock(spec)
	if err != nil {
		return &link.Stop{Code: "discord_in_use", Message: "the channel's store cannot be had", Hint: err.Error(), Wait: link.After(10 * time.Second)}
	}
	defer lock.Close()
	j, err := journal.Open(ctx, spec, journal.Options{Room: d.Room, Fresh: time.Hour, Log: d.Log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	scratch, err := transfer.OpenScratch(filepath.Join(d.Dir, "tmp"), d.Reserve)
	if err != nil {
		return err
	}
	gate := link.NewGate(ctx)
	defer gate.Close()
	d.open.Store(&opened{j, scratch, gate})
	defer d.open.Store(nil)
	var hand sync.WaitGroup
	defer hand.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	hand.Go(func() { j.Hand(ctx, func(ctx context.Context, m journal.Inbound) error { return d.give(ctx, in, m) }) })
	g := &gateway{Discord: d, journal: j}
	return d.link.Stay(ctx, g.connect)
}

// enter is for a Send or a question of the host: what Run has open stays open
// until leave.
func (d *Discord) enter(ctx context.Context) (_ context.Context, o *opened, leave func(), err error) {
	if err := d.link.Held(); err != nil {
		return nil, nil, nil, err
	}
	if o = d.open.Load(); o != nil {
		if inner, leave, ok := o.gate.Enter(ctx); ok {
			return inner, o, leave, nil
		}
	}
	return nil, nil, nil, link.Lost("Discord", nil)
}

// Package telegram is the channel to a Telegram bot of the operator's own, by the Bot
// API (https://core.telegram.org/bots/api) and long polling.
//
//	channels/<name>/telegram-messages.db   updates until the host has them
//	channels/<name>/telegram.lock          held by the one process that runs the channel
//	channels/<name>/tmp/                   members' files on their way; without a name, swept at start
//
// Telegram takes no key for a repeat and answers no question about what was sent: the
// channel is blind. A request whose body was not wholly read was not carried out.
package telegram

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
	_ channel.Applier  = (*Telegram)(nil)
	_ channel.Editor   = (*Telegram)(nil)
	_ channel.Fetcher  = (*Telegram)(nil)
	_ channel.Reactor  = (*Telegram)(nil)
	_ channel.Roles    = (*Telegram)(nil)
	_ channel.Status   = (*Telegram)(nil)
	_ channel.Typing   = (*Telegram)(nil)
	_ channel.Unsender = (*Telegram)(nil)
)

// Telegram is the channel. New of its Platform makes one.
type Telegram struct {
	channel.Setup
	settings *Settings
	web      *web
	link     *link.Link
	pacer    *pace.Pacer
	moved    moved
	chats    atomic.Pointer[[]channel.NamedChat]
	self     atomic.Pointer[user]   // once Telegram has said who the bot is
	open     atomic.Pointer[opened] // while Run has it open
}

// opened is what Run opens. A Send that entered the gate has it until its end.
type opened struct {
	journal *journal.Journal
	scratch *transfer.Scratch
	gate    *link.Gate
}

// newOf makes the channel of a configuration, and opens nothing.
func newOf(s channel.Setup) (channel.Channel, error) {
	set := s.Settings.(*Settings)
	w, err := newWeb(set)
	if err != nil {
		return nil, fmt.Errorf("channel %s: %w", s.Name, err)
	}
	s.Log = s.Log.With("channel", s.Name)
	t := &Telegram{Setup: s, settings: set, web: w, link: link.New("Telegram", s.Log), pacer: pace.New(set.rates())}
	t.Apply(s)
	return t, nil
}

// Apply implements channel.Applier: the groups' chats and the rate change.
func (t *Telegram) Apply(to channel.Setup) {
	t.chats.Store(&to.Chats)
	t.pacer.Set(to.Settings.(*Settings).rates())
}

// counts says whether a chat is one of the groups'.
func (t *Telegram) counts(chat groups.JID) bool {
	return slices.ContainsFunc(*t.chats.Load(), func(c channel.NamedChat) bool { return c.JID == chat })
}

// Name is what longshore.yaml calls the channel.
func (t *Telegram) Name() string { return t.Setup.Name }

// Owns says whether chat has the form tg:number.
func (t *Telegram) Owns(chat groups.JID) bool { return owns(chat) }

// Limits is what Send takes.
func (t *Telegram) Limits() media.Limits { return t.settings.limits() }

// Repeat is that Telegram looks at no id.
func (t *Telegram) Repeat() channel.Repeat { return channel.Repeat{} }

// Connected says whether updates come in, and for whom.
func (t *Telegram) Connected() (ok bool, detail string) { return t.link.Connected() }

// Run hears updates until ctx is done. While the token is missing or refused, or
// another program polls for the bot, it waits and Send is held.
func (t *Telegram) Run(ctx context.Context, in channel.Inbox) error {
	defer t.web.client.CloseIdleConnections()
	return t.link.Run(ctx, func(ctx context.Context) error { return t.serve(ctx, in) })
}

func (t *Telegram) serve(ctx context.Context, in channel.Inbox) (err error) {
	spec := specOf(t.Setup)
	lock, err := store.Lock(spec)
	if err != nil {
		return &link.Stop{Code: "telegram_in_use", Message: "the channel's store cannot be had", Hint: err.Error(), Wait: link.After(10 * time.Second)}
	}
	defer lock.Close()
	j, err := journal.Open(ctx, spec, journal.Options{Room: t.Room, Fresh: time.Hour, Log: t.Log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	scratch, err := transfer.OpenScratch(filepath.Join(t.Dir, "tmp"), t.Reserve)
	if err != nil {
		return err
	}
	gate := link.NewGate(ctx)
	defer gate.Close()
	t.open.Store(&opened{j, scratch, gate})
	defer t.open.Store(nil)
	var hand sync.WaitGroup
	defer hand.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	hand.Go(func() { j.Hand(ctx, func(ctx context.Context, m journal.Inbound) error { return t.give(ctx, in, m) }) })
	return t.link.Stay(ctx, func(ctx context.Context, up func(string)) error { return t.connect(ctx, j, up) })
}

// enter is for a Send or a question of the host: what Run has open stays open
// until leave.
func (t *Telegram) enter(ctx context.Context) (_ context.Context, o *opened, leave func(), err error) {
	if err := t.link.Held(); err != nil {
		return nil, nil, nil, err
	}
	if o = t.open.Load(); o != nil {
		if inner, leave, ok := o.gate.Enter(ctx); ok {
			return inner, o, leave, nil
		}
	}
	return nil, nil, nil, link.Lost("Telegram", nil)
}

// moved are groups that became supergroups, which have another number: by the old
// one that longshore.yaml has. The zero moved is ready.
type moved struct {
	mu sync.Mutex
	to map[int64]int64
}

func (m *moved) note(from, to int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.to == nil {
		m.to = map[int64]int64{}
	}
	m.to[from] = to
}

// now is the number that a chat has now.
func (m *moved) now(id int64) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if to, ok := m.to[id]; ok {
		return to
	}
	return id
}

// before is the number that longshore.yaml has for a chat.
func (m *moved) before(id int64) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	for from, to := range m.to {
		if to == id {
			return from
		}
	}
	return id
}

// Package memory is a channel without a platform, for the tests of everything
// that stands before channels: the outbox, the bridge, the host. A test can let
// it fail in every way in which platforms fail, and sees what members see.
//
// Nothing here sleeps: every wait is for a condition, so that it also runs
// inside a testing/synctest bubble.
package memory

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// Options of a Channel; the zero value is a channel that works.
type Options struct {
	Name    string       // "memory" when empty
	Prefix  string       // of its chats; "mem:" when empty
	Limits  media.Limits // media.DefaultLimits when zero
	Chats   []groups.JID // that exist; nil: every chat with the prefix
	Online  bool         // Send works without Run
	Forgets bool         // shows the same Message.ID again: a platform that knows no keys. Use it with Finding or Blind

	Steps bool // knows a message again by what Send saved for it, and not by its id
	Late  bool // takes messages and shows them at Settle. Finding gets their ids then; otherwise they are reported

	// Script decides how a Send goes; attempt counts from 1 for each
	// Message.ID. The faults of Next come first. May be nil.
	Script func(m channel.Message, attempt int) Fault
}

// Channel is a channel whose platform is a map. It implements channel.Channel
// and channel.Fetcher; [Finding], [Blind] and [Full] add other interfaces.
type Channel struct {
	opts Options
	p    *platform

	ran     atomic.Bool
	mu      sync.Mutex
	inbox   channel.Inbox // while Run runs
	saying  sync.WaitGroup
	offline bool
	end     chan error // what End wants Run to return
}

var _ channel.Channel = (*Channel)(nil)

// New makes a channel with an empty platform.
func New(o Options) *Channel {
	if o.Name == "" {
		o.Name = "memory"
	}
	if o.Prefix == "" {
		o.Prefix = "mem:"
	}
	if o.Limits.Kinds == nil {
		o.Limits = media.DefaultLimits()
	}
	return &Channel{opts: o, p: newPlatform(), end: make(chan error, 1)}
}

// Restarted is a new channel to the same platform: what members saw, what was
// told with Next and the counts of attempts stay.
func (m *Channel) Restarted() *Channel {
	return &Channel{opts: m.opts, p: m.p, end: make(chan error, 1)}
}

// Name implements channel.Channel.
func (m *Channel) Name() string { return m.opts.Name }

// Owns implements channel.Channel.
func (m *Channel) Owns(chat groups.JID) bool {
	rest, ok := strings.CutPrefix(string(chat), m.opts.Prefix)
	return ok && rest != ""
}

// Limits implements channel.Channel.
func (m *Channel) Limits() media.Limits { return m.opts.Limits }

// Repeat implements channel.Channel.
func (m *Channel) Repeat() channel.Repeat { return channel.Repeat{Keyed: channel.Forever} }

// Run implements channel.Channel. It returns early with the error given to End.
func (m *Channel) Run(ctx context.Context, in channel.Inbox) error {
	if m.ran.Swap(true) {
		return errors.New("run memory channel: it has been run before")
	}
	m.mu.Lock()
	m.inbox = in
	m.mu.Unlock()
	m.p.bringUnread(ctx, in)
	m.p.changed()

	var err error
	select {
	case <-ctx.Done():
	case err = <-m.end:
	}
	m.mu.Lock()
	m.inbox = nil
	m.mu.Unlock()
	m.saying.Wait()
	m.p.changed()
	return err
}

// End makes Run return err, as when a platform ends a session for good.
func (m *Channel) End(err error) { m.end <- err }

// Disconnect makes every Send fail, passing, until Reconnect.
func (m *Channel) Disconnect() { m.setOffline(true) }

// Reconnect ends what Disconnect or Fault.Offline began.
func (m *Channel) Reconnect() { m.setOffline(false) }

func (m *Channel) setOffline(off bool) {
	m.mu.Lock()
	m.offline = off
	m.mu.Unlock()
	m.p.changed()
}

func (m *Channel) connected() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.offline && (m.opts.Online || m.inbox != nil)
}

// enter returns the inbox once there is one, and keeps Run from returning
// until saying is done.
func (m *Channel) enter(ctx context.Context) (in channel.Inbox, err error) {
	err = m.Wait(ctx, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		if in = m.inbox; in != nil {
			m.saying.Add(1)
		}
		return in != nil
	})
	return in, err
}

// Next tells how the coming Sends go, one Fault each, whatever their chat.
func (m *Channel) Next(faults ...Fault) {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	m.p.faults = append(m.p.faults, faults...)
}

// Shown is what the members of a chat see, in order.
func (m *Channel) Shown(chat groups.JID) []Seen {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	return slices.Clone(m.p.chats[chat])
}

// Attempts is every call of Send so far, in the order in which they began.
func (m *Channel) Attempts() []Attempt {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	return slices.Clone(m.p.calls)
}

// Typists is how often a chat was told that somebody is writing.
func (m *Channel) Typists(chat groups.JID) int {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	return m.p.writers[chat]
}

// WaitShown waits until the members of a chat see at least n messages and
// returns all they see.
func (m *Channel) WaitShown(ctx context.Context, chat groups.JID, n int) ([]Seen, error) {
	err := m.Wait(ctx, func() bool { return len(m.Shown(chat)) >= n })
	return m.Shown(chat), err
}

// WaitAttempts waits until Send was called at least n times.
func (m *Channel) WaitAttempts(ctx context.Context, n int) ([]Attempt, error) {
	err := m.Wait(ctx, func() bool { return len(m.Attempts()) >= n })
	return m.Attempts(), err
}

// Wait waits until ok holds, asking again whenever something happened on the
// channel or its platform. The error is that of ctx.
func (m *Channel) Wait(ctx context.Context, ok func() bool) error {
	for {
		change := m.p.change() // before asking, so that no change is missed
		if ok() {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Finding is a Channel that knows no keys, but finds what it has shown.
type Finding struct{ *Channel }

var _ channel.Finder = Finding{}

// Repeat implements channel.Channel.
func (a Finding) Repeat() channel.Repeat { return channel.Repeat{} }

// Find implements channel.Finder.
func (a Finding) Find(ctx context.Context, m channel.Message) (*channel.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !a.connected() {
		return nil, notConnected()
	}
	return a.p.receipt(m.ID), nil
}

// Blind is a Channel that cannot look up what it sent, and whose platform knows a
// Message.ID for the time of Keyed only. The zero Keyed is a platform that
// knows no ids.
type Blind struct {
	*Channel
	Keyed time.Duration
}

// Repeat implements channel.Channel.
func (b Blind) Repeat() channel.Repeat { return channel.Repeat{Keyed: b.Keyed} }

// Full is a Channel with every optional interface.
type Full struct{ Finding }

var (
	_ channel.Status = Full{}
	_ channel.Typing = Full{}
)

// Connected implements channel.Status.
func (f Full) Connected() (ok bool, detail string) {
	if f.connected() {
		return true, ""
	}
	return false, "the memory channel is not connected"
}

// Typing implements channel.Typing.
func (f Full) Typing(_ context.Context, chat groups.JID, _ string, on bool) {
	if on {
		f.p.typing(chat)
	}
}

package channeltest

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// Options of a Memory; the zero value is a channel that works.
type Options struct {
	Name    string       // "memory" when empty
	Prefix  string       // of its chats; "mem:" when empty
	Limits  media.Limits // media.DefaultLimits when zero
	Chats   []groups.JID // that exist; nil: every chat with the prefix
	Online  bool         // Send works without Run
	Forgets bool         // shows the same Message.ID again: a platform that knows no keys. Use it with Asking

	// Script decides how a Send goes; attempt counts from 1 for each
	// Message.ID. Faults told with Next come first. May be nil.
	Script func(m channel.Message, attempt int) Fault
	// Unsure makes Asking.Sent fail. May be nil.
	Unsure func(m channel.Message) error
}

// Memory is a channel whose platform is a map. It implements Channel and
// nothing else; [Asking] and [Full] add the optional interfaces.
type Memory struct {
	opts Options
	p    *platform

	mu      sync.Mutex
	inbox   channel.Inbox // while Run runs
	saying  sync.WaitGroup
	offline bool
	end     chan error // what End wants Run to return
}

var _ channel.Channel = (*Memory)(nil)

// NewMemory makes a channel with an empty platform.
func NewMemory(o Options) *Memory {
	if o.Name == "" {
		o.Name = "memory"
	}
	if o.Prefix == "" {
		o.Prefix = "mem:"
	}
	if o.Limits.Kinds == nil {
		o.Limits = media.DefaultLimits()
	}
	return &Memory{opts: o, p: newPlatform(), end: make(chan error, 1)}
}

// Restarted is a new channel to the same platform: what members saw, what was
// told with Next and the counts of attempts stay.
func (m *Memory) Restarted() *Memory {
	return &Memory{opts: m.opts, p: m.p, end: make(chan error, 1)}
}

// Name implements Channel.
func (m *Memory) Name() string { return m.opts.Name }

// Owns implements Channel.
func (m *Memory) Owns(chat groups.JID) bool {
	rest, ok := strings.CutPrefix(string(chat), m.opts.Prefix)
	return ok && rest != ""
}

// Limits implements Channel.
func (m *Memory) Limits() media.Limits { return m.opts.Limits }

// Run implements Channel. It returns early with the error given to End.
func (m *Memory) Run(ctx context.Context, in channel.Inbox) error {
	m.mu.Lock()
	if m.inbox != nil {
		m.mu.Unlock()
		return errors.New("run memory channel: it runs already")
	}
	m.inbox = in
	m.mu.Unlock()
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
func (m *Memory) End(err error) { m.end <- err }

// Disconnect makes every Send fail, passing, until Reconnect.
func (m *Memory) Disconnect() { m.setOffline(true) }

// Reconnect ends what Disconnect or Fault.Offline began.
func (m *Memory) Reconnect() { m.setOffline(false) }

func (m *Memory) setOffline(off bool) {
	m.mu.Lock()
	m.offline = off
	m.mu.Unlock()
	m.p.changed()
}

func (m *Memory) connected() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.offline && (m.opts.Online || m.inbox != nil)
}

// Say lets a member write. It waits for Run, fills an empty ID, From and Time,
// and returns what the inbox said.
func (m *Memory) Say(ctx context.Context, msg channel.Inbound) error {
	in, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer m.saying.Done()
	return in.Receive(ctx, m.p.filled(msg))
}

// Report lets a member's device report of a message. It waits for Run.
func (m *Memory) Report(ctx context.Context, chat groups.JID, id string, state channel.State) error {
	in, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer m.saying.Done()
	in.Report(ctx, chat, id, state)
	return nil
}

// enter returns the inbox once there is one, and keeps Run from returning
// until saying is done.
func (m *Memory) enter(ctx context.Context) (in channel.Inbox, err error) {
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
func (m *Memory) Next(faults ...Fault) { m.p.next(faults) }

// Shown is what the members of a chat see, in order.
func (m *Memory) Shown(chat groups.JID) []Seen { return m.p.shown(chat) }

// Attempts is every call of Send so far, in the order in which they began.
func (m *Memory) Attempts() []Attempt { return m.p.attempts() }

// Typists is how often a chat was told that somebody is writing.
func (m *Memory) Typists(chat groups.JID) int { return m.p.typists(chat) }

// WaitShown waits until the members of a chat see at least n messages and
// returns all they see.
func (m *Memory) WaitShown(ctx context.Context, chat groups.JID, n int) ([]Seen, error) {
	err := m.Wait(ctx, func() bool { return len(m.Shown(chat)) >= n })
	return m.Shown(chat), err
}

// WaitAttempts waits until Send was called at least n times.
func (m *Memory) WaitAttempts(ctx context.Context, n int) ([]Attempt, error) {
	err := m.Wait(ctx, func() bool { return len(m.Attempts()) >= n })
	return m.Attempts(), err
}

// Wait waits until ok holds, asking again whenever something happened on the
// channel or its platform. The error is that of ctx.
func (m *Memory) Wait(ctx context.Context, ok func() bool) error {
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

// Asking is a Memory that can be asked what it has shown.
type Asking struct{ *Memory }

var _ channel.Asker = Asking{}

// Sent implements channel.Asker.
func (a Asking) Sent(ctx context.Context, m channel.Message) (*channel.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if a.opts.Unsure != nil {
		if err := a.opts.Unsure(m); err != nil {
			return nil, err
		}
	}
	if !a.connected() {
		return nil, notConnected()
	}
	return a.p.receipt(m.ID), nil
}

// Full is a Memory with every optional interface.
type Full struct{ Asking }

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
func (f Full) Typing(_ context.Context, chat groups.JID, on bool) {
	if on {
		f.p.typing(chat)
	}
}

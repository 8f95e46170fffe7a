// Package bot is what the channels have in common that are an account of the
// operator's on a platform, and keep what it hears in the journal: they hand on what it
// holds, and stay connected.
//
//	channels/<name>/tmp/   members' files on their way; without a name, swept at start
//
// A channel embeds a [Bot] and implements [Hooks] for [Bot.Run].
package bot

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
)

// Bot is the part of a channel that does not depend on its platform. Its methods may
// be called concurrently, Run once.
type Bot struct {
	channel.Setup
	Link *link.Link

	people string        // its name for people
	fresh  time.Duration // how long the journal knows what it has handed on
	chats  atomic.Pointer[[]channel.NamedChat]
	open   atomic.Pointer[Open]
}

// New is the Bot of a configuration. people is the platform's name for people. The journal
// knows for the time fresh what it has handed on, so that a platform's repeats within it
// count once. New opens nothing.
func New(s channel.Setup, people string, fresh time.Duration) *Bot {
	if s.Host == nil {
		s.Host = channel.NoHost{}
	}
	s.Log = s.Log.With("channel", s.Name)
	b := &Bot{Setup: s, Link: link.New(people, s.Log), people: people, fresh: fresh}
	b.SetChats(s)
	return b
}

// SetChats takes the chats of the groups from a new configuration.
func (b *Bot) SetChats(to channel.Setup) { b.chats.Store(&to.Chats) }

// Served are the groups' chats on the channel.
func (b *Bot) Served() []channel.NamedChat { return *b.chats.Load() }

// Serves reports whether a group has the chat.
func (b *Bot) Serves(chat groups.JID) bool {
	return slices.ContainsFunc(b.Served(), func(c channel.NamedChat) bool { return c.JID == chat })
}

// Name is what longshore.yaml calls the channel.
func (b *Bot) Name() string { return b.Setup.Name }

// Connected says whether events come in, and as whom or why not.
func (b *Bot) Connected() (ok bool, detail string) { return b.Link.Connected() }

// Open is what Run has open: it stays so for whoever has entered.
type Open struct {
	Journal *journal.Journal
	Scratch *transfer.Scratch

	gate *link.Gate
}

// Open is nil while Run has nothing open.
func (b *Bot) Open() *Open { return b.open.Load() }

// Hooks are what the platform's own package does in a run. A channel is its Bot's Hooks.
type Hooks interface {
	// Give hands a message or an event of the journal to the host.
	Give(ctx context.Context, in channel.Inbox, m journal.Inbound) error
	// Connect is one connection, as [link.Link.Stay] wants it.
	Connect(ctx context.Context, o *Open, up func(detail string)) error
	// Beside runs beside the connections until ctx is done. A Bot has one that does nothing.
	Beside(ctx context.Context, o *Open)
}

// Beside implements Hooks for a channel that has nothing to do there.
func (*Bot) Beside(context.Context, *Open) {}

// Run hears until ctx is done. It wants the state of the Setup. While a [link.Stop] keeps the
// channel down, Run waits, and Enter is held.
func (b *Bot) Run(ctx context.Context, in channel.Inbox, hooks Hooks) error {
	return b.Link.Run(ctx, func(ctx context.Context) error { return b.serve(ctx, in, hooks) })
}

func (b *Bot) serve(ctx context.Context, in channel.Inbox, hooks Hooks) error {
	j, err := journal.Open(ctx, b.State, b.Setup.Name, journal.Options{Disk: b.Host, Fresh: b.fresh, Log: b.Log})
	if err != nil {
		return err
	}
	scratch, err := transfer.OpenScratch(filepath.Join(b.Dir, "tmp"), b.Host.Reserve)
	if err != nil {
		return err
	}
	open := &Open{Journal: j, Scratch: scratch, gate: link.NewGate(ctx)}
	defer open.gate.Close()
	b.open.Store(open)
	defer b.open.Store(nil)
	var running sync.WaitGroup
	defer running.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	running.Go(func() { hooks.Beside(ctx, open) })
	running.Go(func() {
		j.Hand(ctx, func(ctx context.Context, m journal.Inbound) error { return hooks.Give(ctx, in, m) })
	})
	return b.Link.Stay(ctx, func(ctx context.Context, up func(string)) error { return hooks.Connect(ctx, open, up) })
}

// Enter is for a Send or a question of the host: what Run has open stays open until
// leave, which the caller calls once. The context ends when Run does. The error is a
// channel.Error that is held.
func (b *Bot) Enter(ctx context.Context) (_ context.Context, o *Open, leave func(), err error) {
	if err := b.Link.Held(); err != nil {
		return nil, nil, nil, err
	}
	if o = b.Open(); o != nil {
		if inner, leave, ok := o.gate.Enter(ctx); ok {
			return inner, o, leave, nil
		}
	}
	return nil, nil, nil, link.Lost(b.people, nil)
}

// Ref is how the host names a member's file: what the platform calls it, and the Ref
// of the message that has it.
func Ref(file, message string) string { return file + " " + message }

// CutRef undoes Ref.
func CutRef(ref string) (file, message string) {
	file, message, _ = strings.Cut(ref, " ")
	return file, message
}

// Kept is the message that has a member's file, and what the platform calls the file.
// The error is for good if the journal does not know the message any more.
func (o *Open) Kept(ctx context.Context, f channel.FileRef) (file string, m *journal.Inbound, err error) {
	file, ref := CutRef(f.Ref)
	m, err = o.Journal.ByRef(ctx, f.Chat, ref)
	if err == nil && m == nil {
		err = channel.Unfetchable("the host does not know the message any more")
	}
	return file, m, err
}

// Package bot has what channels share that are an account of the operator's on a platform and
// keep what they hear in the journal. Such a channel gives the host what the journal holds, and
// stays connected.
//
//	channels/<name>/tmp/   members' files on their way; without a name, swept at start
//
// A channel embeds a [Bot] and implements [Hooks] for [Bot.Run].
package bot

import (
	"context"
	"io"
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
	"github.com/longshore-bridge/longshore/host/channel/pace"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/media"
)

// Bot is the part of a channel that does not depend on its platform. Its methods may be called
// concurrently, Run once.
type Bot struct {
	channel.Setup
	Link *link.Link

	// Barred are the chats that refuse the bot. The status says so, and Begin leaves them alone.
	Barred Barred

	kind  Kind
	fresh time.Duration // how long the journal knows what it has handed on
	pacer *pace.Pacer
	chats atomic.Pointer[[]channel.NamedChat]
	open  atomic.Pointer[Open]
}

// New makes the Bot of a configuration. For the time fresh, the journal knows what it has given the
// host, so that a platform's repeats count once. New opens nothing.
func New(s channel.Setup, kind Kind, fresh time.Duration) *Bot {
	if s.Host == nil {
		s.Host = channel.NoHost{}
	}
	s.Log = s.Log.With("channel", s.Name)
	b := &Bot{Setup: s, Link: link.New(kind.People, s.Log), kind: kind, fresh: fresh, pacer: pace.New(ratesOf(s))}
	b.chats.Store(&s.Chats)
	return b
}

// Rated are settings with rates of messages.
type Rated interface{ Rates() pace.Rates }

// Apply implements channel.Applier: the groups' chats and the rates change, and what somebody may have mended is
// tried.
func (b *Bot) Apply(to channel.Setup) {
	b.chats.Store(&to.Chats)
	b.pacer.Set(ratesOf(to))
	b.Link.Retry()
}

func ratesOf(s channel.Setup) (none pace.Rates) {
	if set, ok := s.Settings.(Rated); ok {
		return set.Rates()
	}
	return none
}

// Served returns the groups' chats on the channel.
func (b *Bot) Served() []channel.NamedChat { return *b.chats.Load() }

// Serves reports whether a group has the chat.
func (b *Bot) Serves(chat groups.JID) bool {
	return slices.ContainsFunc(b.Served(), func(c channel.NamedChat) bool { return c.JID == chat })
}

// Name returns the channel's name in longshore.yaml.
func (b *Bot) Name() string { return b.Setup.Name }

// Limits returns the limits of the settings.
func (b *Bot) Limits() media.Limits { return b.Settings.Limits() }

// EditWithin implements channel.Editor for a platform that sets no time limit.
func (*Bot) EditWithin() time.Duration { return channel.Forever }

// UnsendWithin implements channel.Unsender for a platform that sets no time limit.
func (*Bot) UnsendWithin() time.Duration { return channel.Forever }

// ReportUnknown reports to the host a message in a chat of no group. from is the name of its
// writer, which is left out unless the chat is private.
func (b *Bot) ReportUnknown(chat groups.JID, private bool, from string, at time.Time) {
	if !private {
		from = ""
	}
	b.Host.ReportUnknown(channel.UnknownChat{Chat: chat, Shared: !private, From: from, Time: at})
}

// Connected reports whether events come in. detail is the account and what somebody should see to, or
// the reason why not.
func (b *Bot) Connected() (ok bool, detail string) {
	ok, detail = b.Link.Connected()
	if trouble := b.Barred.Trouble(); ok && trouble != "" {
		detail += "; " + trouble
	}
	return ok, detail
}

// Account is what a channel implements if its platform has bots, reactions and questions.
type Account interface {
	channel.Channel
	channel.Applier
	channel.Editor
	channel.Fetcher
	channel.PollEnder
	channel.Reactor
	channel.Roles
	channel.Status
	channel.Typing
	channel.Unsender
}

// Open is what Run has open. It stays open for a caller of Enter until leave.
type Open struct {
	Journal *journal.Journal
	Scratch *transfer.Scratch

	gate *link.Gate
}

// Open returns nil while Run has nothing open.
func (b *Bot) Open() *Open { return b.open.Load() }

// Hooks are what the platform's package adds to a run. The channel implements them.
type Hooks interface {
	// Give hands a message or an event of the journal to the host, see [journal.Give].
	Give(ctx context.Context, in channel.Inbox, m journal.Inbound) error
	// Connect is one connection, as [link.Link.Stay] wants it.
	Connect(ctx context.Context, o *Open, up func(detail string)) error
	// Beside runs beside the connections until ctx is done. Bot.Beside does nothing.
	Beside(ctx context.Context, o *Open)
}

// Beside implements Hooks for a channel that needs no goroutine of its own.
func (*Bot) Beside(context.Context, *Open) {}

// Run stays connected until ctx is done. It wants the state of the Setup. While a [link.Stop]
// keeps the channel down, Run waits, and Enter returns a Held error.
func (b *Bot) Run(ctx context.Context, in channel.Inbox, hooks Hooks) error {
	return b.Link.Run(ctx, func(ctx context.Context) error { return b.serve(ctx, in, hooks) })
}

func (b *Bot) serve(ctx context.Context, in channel.Inbox, hooks Hooks) error {
	j, err := journal.Open(ctx, b.State, b.kind.YAML, b.Setup.Name, journal.Options{Disk: b.Host, Fresh: b.fresh, Log: b.Log})
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
	running.Go(func() { j.Hand(ctx, in, hooks.Give) })
	return b.Link.Stay(ctx, func(ctx context.Context, up func(string)) error { return hooks.Connect(ctx, open, up) })
}

// Enter keeps open what Run has open until leave, which the caller calls once: for a Send or a
// question of the host. The returned context also ends with Run. The error is a channel.Error:
// Held during a stop, else Passing.
func (b *Bot) Enter(ctx context.Context) (_ context.Context, o *Open, leave func(), err error) {
	if err := b.Link.Held(); err != nil {
		return nil, nil, nil, err
	}
	if o = b.Open(); o != nil {
		if inner, leave, ok := o.gate.Enter(ctx); ok {
			return inner, o, leave, nil
		}
	}
	return nil, nil, nil, link.Lost(b.kind.People, nil)
}

// Within calls do while what Run has open stays open, see Enter.
func (b *Bot) Within(ctx context.Context, do func(ctx context.Context, o *Open) error) error {
	ctx, o, leave, err := b.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return do(ctx, o)
}

// SendBy is Send by what deliver does. It refuses what is beyond the limits, is for a chat that is Barred,
// or comes faster than the rates, and keeps a question first.
func (b *Bot) SendBy(ctx context.Context, m channel.Message, deliver func(context.Context, *Open, channel.Message) (channel.Receipt, error)) (r channel.Receipt, err error) {
	if err := channel.Check(b.Name(), m, b.Limits()); err != nil {
		return r, err
	}
	err = b.Within(ctx, func(ctx context.Context, o *Open) (err error) {
		if err := b.Barred.Of(m.Chat); err != nil {
			return err
		}
		if wait := b.pacer.Turn(m.Chat); wait > 0 {
			return link.Slow(b.kind.People, wait, nil)
		}
		if err := o.KeepPoll(ctx, m); err != nil {
			return err
		}
		r, err = deliver(ctx, o, m)
		return err
	})
	return r, err
}

// Ref returns the host's name for a member's file: the platform's name for it, and the Ref of
// the message that has it.
func Ref(file, message string) string { return file + " " + message }

// CutRef splits what Ref returned.
func CutRef(ref string) (file, message string) {
	file, message, _ = strings.Cut(ref, " ")
	return file, message
}

// Unreadable returns what comes in for a row of the journal that this program cannot read, since another
// version of it kept the row. From is the sender's name.
func Unreadable(m journal.Inbound, from string) channel.Inbound {
	in := channel.Inbound{ID: m.ID, Chat: m.Chat, From: from, Sender: m.Sender, Time: m.Received, Told: "unreadable", Text: channel.NotShown("unreadable")}
	if m.Event {
		in.Kind = channel.KindNote
	}
	return in
}

// Kept returns the message that has a member's file, and the platform's name for the file. The
// error is Permanent if the journal does not have the message any more.
func (o *Open) Kept(ctx context.Context, f channel.FileRef) (file string, m *journal.Inbound, err error) {
	file, ref := CutRef(f.Ref)
	m, err = o.Journal.ByRef(ctx, f.Chat, ref)
	if err == nil && m == nil {
		err = channel.Unfetchable("the host does not know the message any more")
	}
	return file, m, err
}

// FetchBy is Fetch by what get does with a file of a message that Open.Keep kept. own takes what the
// channel kept with it; nil: nothing.
func (b *Bot) FetchBy(ctx context.Context, f channel.FileRef, own any, get func(ctx context.Context, o *Open, in channel.Inbound, file channel.Attachment) (io.ReadCloser, error)) (body io.ReadCloser, err error) {
	err = b.Within(ctx, func(ctx context.Context, o *Open) error {
		_, m, err := o.Kept(ctx, f)
		if err != nil {
			return err
		}
		in, err := Decode(*m, own)
		if err != nil {
			return channel.Unfetchable("the message cannot be read any more")
		}
		all := in.Files
		if in.Quote != nil {
			all = slices.Concat(all, in.Quote.Files)
		}
		i := slices.IndexFunc(all, func(a channel.Attachment) bool { return a.Ref == f.Ref })
		if i < 0 {
			return channel.Unfetchable("the message has no such file")
		}
		body, err = get(ctx, o, in, all[i])
		return err
	})
	return body, err
}

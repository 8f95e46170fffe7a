// Package push is the channel to a program of the operator's own, the receiver:
// each message is one signed POST to its URL, and it posts back what members
// write, as docs/push.md describes.
//
//	channels/<name>/push-messages.db   replies until the host has them, and the ids that were seen
//	channels/<name>/push.lock          held by the one process that takes replies
//	channels/<name>/tmp/               members' files on their way; without a name, swept at start
//
// The signature of a message with files covers the JSON before them, which has the
// SHA-256 of each: so a file is streamed. A reply is durable before its answer.
package push

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/httpd"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/media"
)

// Push is the channel. New of its Platform makes one.
type Push struct {
	channel.Setup
	settings      *Settings
	keys          httpd.WebhookKeys
	poster, files *http.Client
	link          *link.Link
	chats         atomic.Pointer[[]channel.NamedChat]
	running       atomic.Bool
	open          atomic.Pointer[opened] // while Run has it open
}

// opened is what Run opens.
type opened struct {
	journal *journal.Journal
	scratch *transfer.Scratch
}

// newOf makes the channel of a configuration, and opens nothing.
func newOf(s channel.Setup) (channel.Channel, error) {
	set := s.Settings.(*Settings)
	keys, noKeys := httpd.ParseWebhookKeys(set.Secret.Reveal())
	poster, noPoster := set.poster()
	files, noFiles := set.files()
	if err := errors.Join(noKeys, noPoster, noFiles); err != nil {
		return nil, fmt.Errorf("channel %s: %w", s.Name, err)
	}
	s.Log = s.Log.With("channel", s.Name)
	p := &Push{Setup: s, settings: set, keys: keys, poster: poster, files: files, link: link.New(s.Name, s.Log)}
	p.Apply(s)
	return p, nil
}

// Apply implements channel.Applier: the groups' chats change.
func (p *Push) Apply(s channel.Setup) { p.chats.Store(&s.Chats) }

// Name is what longshore.yaml calls the channel.
func (p *Push) Name() string { return p.Setup.Name }

// Owns says whether chat has the form push:name.
func (p *Push) Owns(chat groups.JID) bool { return chat.Channel() == platformKey }

// Limits is what Send takes.
func (p *Push) Limits() media.Limits { return p.settings.limits() }

// Repeat is the receiver's promise to show a webhook-id once.
func (p *Push) Repeat() channel.Repeat { return channel.Repeat{Keyed: channel.Forever} }

// Connected says whether replies are taken, and where.
func (p *Push) Connected() (ok bool, detail string) { return p.link.Connected() }

// Run takes replies until ctx is done. While another process has the store or the
// address, it tries again, and Send sends.
func (p *Push) Run(ctx context.Context, in channel.Inbox) error {
	p.running.Store(true)
	defer p.running.Store(false)
	defer p.poster.CloseIdleConnections()
	defer p.files.CloseIdleConnections()
	return p.link.Run(ctx, func(ctx context.Context) error { return p.serve(ctx, in) })
}

func (p *Push) serve(ctx context.Context, in channel.Inbox) (err error) {
	spec := specOf(p.Setup)
	lock, err := store.Lock(spec)
	if err != nil {
		return stopped("the channel's store cannot be had", err)
	}
	defer lock.Close()
	j, err := journal.Open(ctx, spec, journal.Options{Room: p.Room, Fresh: 2 * httpd.WebhookWindow, Log: p.Log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	scratch, err := transfer.OpenScratch(filepath.Join(p.Dir, "tmp"), p.Reserve)
	if err != nil {
		return err
	}
	p.open.Store(&opened{j, scratch})
	defer p.open.Store(nil)
	var hand sync.WaitGroup
	defer hand.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	hand.Go(func() { j.Hand(ctx, func(ctx context.Context, m journal.Inbound) error { return p.give(ctx, in, m) }) })
	return p.link.Stay(ctx, func(ctx context.Context, up func(string)) error {
		l, err := httpd.Address{Listen: p.settings.Listen, Token: p.settings.Secret.Reveal()}.Open()
		if err != nil {
			return stopped("replies cannot be taken", err)
		}
		up("takes replies at " + httpd.URL(l.Addr()))
		guard := httpd.NewGuard(l.Addr(), "name it under host in longshore.yaml", p.settings.Listen, p.settings.Host)
		return httpd.Serve(ctx, l, p.handler(guard, j), p.Log, func() {})
	})
}

// stopped is tried again in a while.
func stopped(message string, err error) error {
	return &link.Stop{Code: "push_stopped", Message: message, Hint: err.Error(), Wait: link.After(10 * time.Second)}
}

// Fetch brings a member's file. Its Ref is its address and its reply's own Ref.
// Only what files_from lists is asked.
func (p *Push) Fetch(ctx context.Context, f channel.FileRef) (io.ReadCloser, error) {
	open, pace := p.open.Load(), transfer.Brisk
	if open == nil {
		return nil, &channel.Error{Class: channel.Held, Code: "not_connected", Message: "the channel does not run", Hint: "it is tried again by itself"}
	}
	if f.Patient {
		pace = transfer.Patient
	}
	address, ref, _ := strings.Cut(f.Ref, " ")
	m, err := open.journal.ByRef(ctx, f.Chat, ref)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, channel.Unfetchable("the host does not know the message any more")
	}
	return open.scratch.Get(ctx, p.files, address, int64(p.settings.MaxFile), pace)
}

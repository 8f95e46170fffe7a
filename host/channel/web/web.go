// Package web is the default channel: a chat page for every group, which the host
// itself serves, with no account anywhere.
//
// Members open the page, write and attach files; what the assistant sends
// appears live. Scripts can use the page's small HTTP API.
// docs/web.md describes both.
//
// The history is in the state: the tables page_… of schema.sql, and blobs. A file is staged,
// compared with its expected SHA-256, and its name made durable; then the message is
// inserted. The row makes the file exist: a blob without a row is an orphan of a crash, and
// the next start moves it aside for a week. Send returns its receipt only after the row is
// durable. Deletion runs in the other direction: first the row, then the bytes.
//
// The page does not know who a person is. Everybody who can reach the address, and knows
// the token if there is one, reads and writes every chat, under any name. The host decides
// what reaches an assistant. longshore.yaml says how long a
// chat keeps its messages.
package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/channel/web/session"
	"github.com/longshore-bridge/longshore/host/channel/web/webpush"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/media"
)

var (
	_ channel.Channel = (*Web)(nil)
	_ channel.Status  = (*Web)(nil)
	_ channel.Typing  = (*Web)(nil)
	_ channel.Opener  = (*Web)(nil)
	_ channel.Applier = (*Web)(nil)
)

// Options configures a Web. State and Chats are needed; everything else has a default.
type Options struct {
	Name     string       // of the channel in longshore.yaml; "web" if empty
	State    *state.DB    // has the history
	Listen   string       // host:port; 127.0.0.1:8420 if empty; port 0 takes a free one
	Listener net.Listener // used instead of Listen unless nil; Close closes it
	Token    string       // opens the page; required off loopback
	Hosts    []string     // further names, with or without a port, under which a proxy serves the page; needs Token

	Proxies httpd.Proxies // whose X-Forwarded-For counts

	Links    http.Handler     // what is served at /links/ without the token; nil: nothing
	Tasks    channel.TaskBook // scheduled tasks to show; nil: none
	Push     webpush.Settings // notifications while no page is open
	Terms                     // at the start; Apply changes them
	MaxFiles int              // files in one post of a member; 10 if 0
	Log      *slog.Logger     // nil discards
}

// Web is the channel. New makes one, Open listens, Run serves.
type Web struct {
	opts    Options
	limits  media.Limits
	log     *slog.Logger
	inForce atomic.Pointer[terms]
	store   *history.Store
	files   *history.Files
	hub     *hub

	// entered is held for a chat by who adds to its history, so that rows become visible in the
	// order of their numbers: a page that asks for "everything after" misses nothing.
	entered link.Keyed

	guard    *session.Guard
	listener net.Listener
	push     *webpush.Pusher // nil: off
	uploads  *httpd.UploadSlots
	full     chan struct{} // has a value after a chat was marked that may keep too much

	opened  atomic.Bool                   // Open has succeeded
	inbox   atomic.Pointer[channel.Inbox] // nil unless running
	serving atomic.Bool

	stopping atomic.Bool // streams must end
	link     *link.Link  // stopped while the page cannot be opened
}

// room is a chat.
type room struct {
	channel.NamedChat
	name string
}

// New makes the channel of the options and opens nothing. Its errors name the remedy.
func New(opts Options) (*Web, error) {
	opts.fill()
	w := &Web{
		opts:    opts,
		limits:  defaultLimits(),
		log:     opts.Log.With("channel", opts.Name),
		hub:     newHub(),
		uploads: httpd.NewUploadSlots(),
		full:    make(chan struct{}, 1),
	}
	w.link = link.New("the chat page", w.log)
	if err := w.take(opts.Terms); err != nil {
		return nil, err
	}
	return w, nil
}

// Open listens and reads what it must know of the history. It starts no goroutine.
func (w *Web) Open(ctx context.Context) error {
	if w.opened.Load() {
		return nil
	}
	if err := w.open(ctx); err != nil {
		return errors.Join(err, w.Close())
	}
	w.stopping.Store(false)
	w.opened.Store(true)
	return nil
}

func (o *Options) fill() {
	o.Name, o.Listen = cmp.Or(o.Name, "web"), cmp.Or(o.Listen, "127.0.0.1:8420")
	o.MaxFiles, o.Log = cmp.Or(o.MaxFiles, 10), cmp.Or(o.Log, slog.New(slog.DiscardHandler))
}

// open opens what Close closes.
func (w *Web) open(ctx context.Context) (err error) {
	if w.listener, err = w.opts.address().Open(); err != nil {
		return err
	}
	w.store = history.New(w.opts.State, w.opts.Name)
	o := session.Options{DB: w.opts.State, Channel: w.opts.Name, Token: w.opts.Token, Names: w.opts.names(), Push: w.opts.Push.Contact != ""}
	if w.guard, err = session.NewGuard(ctx, o, w.listener.Addr()); err != nil {
		return err
	}
	if w.files, err = history.OpenFiles(ctx, w.store); err != nil {
		return err
	}
	w.push, err = webpush.New(ctx, webpush.Options{Settings: w.opts.Push, DB: w.opts.State, Channel: w.opts.Name, Pages: w.hub, Guard: w.guard, Log: w.log})
	return err
}

// Name returns the channel's name in longshore.yaml.
func (w *Web) Name() string { return w.opts.Name }

// Owns reports whether chat has the form web:<name>.
func (w *Web) Owns(chat groups.JID) bool {
	_, ok := history.ChatOf(chat)
	return ok
}

// Limits returns what Send takes.
func (w *Web) Limits() media.Limits { return w.limits }

// Platform returns the chat page for the host's table.
func Platform() channel.Platform { return platform{} }

type platform struct{}

func (platform) Key() string               { return "web" }
func (platform) Help() string              { return "The chat page that the host serves itself." }
func (platform) Owns(chat groups.JID) bool { _, ok := history.ChatOf(chat); return ok }

// Repeat is keyed for ever: the history knows every id that it ever had, even those of
// deleted messages.
func (w *Web) Repeat() channel.Repeat { return channel.Repeat{Keyed: channel.Forever} }

// Connected reports whether the page is being served, and where.
func (w *Web) Connected() (ok bool, detail string) {
	if w.serving.Load() {
		return true, "serving " + w.URL()
	}
	if w.link.Held() == nil {
		return false, "the page is not being served"
	}
	return w.link.Connected()
}

// Typing shows or hides on the chat's page that the assistant works.
func (w *Web) Typing(_ context.Context, chat groups.JID, _ string, on bool) {
	if name, ok := history.ChatOf(chat); ok && w.now().chats[name] != nil {
		w.hub.setTyping(name, on)
	}
}

// reopenAfter is the pause before Run tries again to open the page.
const reopenAfter = 5 * time.Second

// Run serves the page, passes members' posts to the host, and deletes expired messages,
// until ctx is done. Then it ends every request and returns. While the page cannot be opened, such
// as for a port that is in use, Run tries again, and Send returns a Held error.
func (w *Web) Run(ctx context.Context, in channel.Inbox) error {
	return w.link.Run(ctx, func(ctx context.Context) error {
		err := w.Open(ctx)
		if err == nil {
			err = w.serve(ctx, in)
		}
		if err == nil {
			return nil
		}
		return &link.Stop{Code: "page_down", Message: "the chat page is not served", Hint: err.Error(), Wait: link.After(reopenAfter)}
	})
}

// serve serves the opened page until ctx is done, which is no error, and closes it.
func (w *Web) serve(ctx context.Context, in channel.Inbox) error {
	w.inbox.Store(&in)
	working, endWork := context.WithCancel(ctx)
	defer endWork()
	var work sync.WaitGroup
	work.Go(func() { w.sweep(working) })
	work.Go(func() { w.push.Run(working) })
	work.Go(func() { journal.Hand(working, w.opts.State, w.store, w.log, in, w.give) })
	w.serving.Store(true)
	w.log.Info("serving the chat page", "url", w.URL())
	s := httpd.Server{Handler: w.Handler(), Log: w.log, Grace: 5 * time.Second, Ending: func() {
		w.serving.Store(false)
		w.inbox.Store(nil)
		w.endStreams()
		endWork()
		work.Wait()
	}}
	return errors.Join(s.Serve(ctx, w.listener), w.Close())
}

func (w *Web) endStreams() {
	w.stopping.Store(true)
	w.hub.pokeAll()
}

// Close releases what Open took. Run calls it; only a Web that is not run needs it. Send
// fails until the next Open.
func (w *Web) Close() error {
	w.opened.Store(false)
	w.endStreams()
	if w.listener == nil {
		return nil
	}
	if err := w.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close listener: %w", err)
	}
	return nil
}

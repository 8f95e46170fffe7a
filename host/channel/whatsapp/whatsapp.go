// Package whatsapp is the channel to WhatsApp: a linked device of somebody's
// account, through whatsmeow. docs/whatsapp.md takes an operator through it.
//
//	store/whatsapp.db     the device's keys and sessions (whatsmeow's own schema)
//	store/whatsapp.lock   held by the one process that is connected
//	store/whatsapp-tmp/   ciphertext on its way; files without a name, swept at start
//
// The directory is 0700 and its files 0600: whoever can read them can act as the
// device.
//
// # What goes out
//
// A message's id on WhatsApp is derived from [channel.Message.ID], so that a
// repeat carries the same one. Before the library sends it, the finished message
// is recorded durably in the journal, with the keys of its uploaded file.
// WhatsApp's acknowledgement is recorded durably, too. So a repeat after a crash
// uploads nothing again, an acknowledged message is not sent again, and a member's
// device that cannot decrypt a message gets it again even after a restart. One
// case is left: if the acknowledgement is lost and no member's device sends a
// receipt, the same message goes out once more with the same id, and the members'
// apps show it once.
//
// # What comes in
//
// A member's message is acknowledged to WhatsApp after it has been recorded
// durably in the journal. From there the Inbox gets it, again until the
// Inbox keeps it, one message at a time in each chat; no chat waits for another.
// Fetch downloads its file afterwards. Devices' receipts go through a bounded queue
// in memory; if it is full, they are not acknowledged, and WhatsApp repeats them.
//
// # Packages
//
// This package holds the connection and the order of events. What has no need of it lies
// below: decode and compose read and build messages, messages records them, directory knows
// chats and people, mediaserver moves files, device has the keys, outcome classifies errors,
// librarylog passes the libraries' logs on.
//
// The package does not decide who may send what. It never reads history, marks
// nothing as read, and sends nothing by itself.
package whatsapp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/pace"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/compose"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/device"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/librarylog"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/outcome"
	"github.com/longshore-bridge/longshore/host/state"
	stores "github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/confine"
	"github.com/longshore-bridge/longshore/media"
)

var (
	_ channel.Channel = (*WhatsApp)(nil)
	_ channel.Status  = (*WhatsApp)(nil)
	_ channel.Typing  = (*WhatsApp)(nil)
	_ channel.Fetcher = (*WhatsApp)(nil)

	_ channel.Lister   = (*WhatsApp)(nil)
	_ channel.Unpairer = (*WhatsApp)(nil)
	_ channel.Applier  = (*WhatsApp)(nil)
	_ channel.Roles    = (*WhatsApp)(nil)
)

// Options configures a WhatsApp. Only Dir is needed, and State to run it.
type Options struct {
	Name       string        // of the channel in longshore.yaml; "whatsapp" when empty
	Dir        string        // the sessions' directory, made when missing
	Home       stores.Home   // of the installation that the channel belongs to; may be zero
	Server     stores.Server // where the device's keys are; zero: in Dir
	State      *state.DB     // of the host, which Run needs; a process that only links an account may have none
	DeviceName string        // as the phone lists it under linked devices; "Longshore" when empty
	Chats      []groups.JID  // the registered chats: messages of other chats are not recorded. Nil: all
	Limits     media.Limits  // what Send takes; DefaultLimits when zero
	Rates      pace.Rates    // how often Send sends; DefaultRates when zero
	MaxInbound int64         // bytes of one file of a member; the limit for documents when 0
	AckTimeout time.Duration // how long Send waits for WhatsApp's answer, the first seconds with the library's lock; 25 s if 0

	// Host has room for temporary ciphertext, or Send fails for the time being, and for
	// members' messages, or they stay with WhatsApp. Nil: a channel.NoHost.
	Host channel.Host

	// Network is nil except in tests: the system's, with the environment's proxies.
	Network transfer.Network

	Tools confine.Mode // how ffmpeg, ffprobe, pdfinfo and pdftoppm run, for thumbnails and durations; not at all when empty
	Log   *slog.Logger // discarded when nil
}

// WhatsApp is the channel. New makes one, Run connects it.
type WhatsApp struct {
	opts  Options
	log   *slog.Logger
	http  *http.Client
	media *http.Client // the only client for paths that a message names
	pacer *pace.Pacer
	chats atomic.Pointer[[]groups.JID] // the registered chats; Options.Chats at first
	link  *link.Link

	version  *device.Version
	live     atomic.Pointer[session] // while Run has one
	unlinked link.Stop               // why no account is linked; Run's alone
	sending  link.Keyed              // by WhatsApp's message id
	sendSlot sendSlot
	watch    time.Duration  // as in watchEvery
	probe    time.Duration  // as in probeEvery
	unread   time.Duration  // as in unreadAfter
	brisk    transfer.Speed // of a download's first attempt
}

// New checks the options and makes the channel. It opens and starts nothing.
func New(opts Options) (*WhatsApp, error) {
	if opts.Dir == "" {
		return nil, errors.New("no directory given for the sessions")
	}
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("resolve directory: %w", err)
	}
	opts.Dir = dir
	opts.Name = cmp.Or(opts.Name, "whatsapp")
	opts.DeviceName = cmp.Or(opts.DeviceName, "Longshore")
	if opts.Limits.Kinds == nil {
		opts.Limits = DefaultLimits()
	}
	if opts.Rates == (pace.Rates{}) {
		opts.Rates = DefaultRates()
	}
	opts.MaxInbound = cmp.Or(opts.MaxInbound, opts.Limits.Kinds[media.Document].Bytes)
	opts.AckTimeout = cmp.Or(opts.AckTimeout, 25*time.Second)
	if opts.Host == nil {
		opts.Host = channel.NoHost{}
	}
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	guarded, err := transfer.New(transfer.Options{Hosts: mediaHosts, Network: opts.Network})
	if err != nil {
		return nil, err
	}
	client := socketClient(opts.Network)
	log := opts.Log.With("channel", opts.Name)
	librarylog.TakeSignal(log)
	w := &WhatsApp{
		opts:     opts,
		log:      log,
		link:     link.New(outcome.Platform, log),
		unlinked: stopNotPaired,
		http:     client,
		media:    guarded,
		pacer:    pace.New(opts.Rates),
		version:  device.NewVersion(client, log),
		sendSlot: sendSlot{taken: make(chan struct{}, 1), ackWait: defaultAckWait, most: defaultSlot, ackTime: opts.AckTimeout},
		watch:    watchEvery,
		probe:    probeEvery,
		unread:   unreadAfter,
		brisk:    transfer.Brisk,
	}
	w.chats.Store(&opts.Chats)
	return w, nil
}

// mediaHosts are the suffixes of the hosts of media servers, for example
// mmg.whatsapp.net and media-xxx.cdn.whatsapp.net. WhatsApp's server names the
// hosts to use.
var mediaHosts = []string{".whatsapp.net"}

// socketClient returns the client for the socket and the version, whose addresses the library
// holds.
func socketClient(network transfer.Network) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	if network != nil {
		t.Proxy, t.DialContext = network.Proxy, network.DialContext
	}
	if tls, ok := network.(transfer.TLSNetwork); ok {
		t.DialTLSContext = tls.DialTLSContext
	}
	return &http.Client{Transport: t}
}

// DefaultLimits are the sizes at which WhatsApp's own apps send a file in its
// kind, and the types that they show or play. The text and caption limits are
// those of its apps. The server names none; documents of 2 GB are said to pass. The codecs
// are those of developers.facebook.com, WhatsApp Cloud API, Media and Video messages. It
// does not want the High profile of H.264 either, which today's phones play.
func DefaultLimits() media.Limits {
	return media.Limits{
		Kinds: map[media.Kind]media.Limit{
			media.Image:    {Bytes: 16 * media.MiB, Caption: 1024, MIME: []string{"image/jpeg", "image/png"}, Album: compose.AlbumKind},
			media.Video:    {Bytes: 64 * media.MiB, Caption: 1024, MIME: []string{"video/mp4", "video/3gpp"}, Codecs: []string{"h264", "aac"}, Album: compose.AlbumKind},
			media.Audio:    {Bytes: 16 * media.MiB, MIME: []string{"audio/aac", "audio/mp4", "audio/mpeg", "audio/amr", "audio/ogg"}, Codecs: []string{"aac", "mp3", "opus"}},
			media.Voice:    {Bytes: 16 * media.MiB, MIME: []string{"audio/ogg"}},
			media.Sticker:  {Bytes: media.MiB, MIME: []string{"image/webp"}},
			media.Document: {Bytes: 100 * media.MiB, Caption: 1024},
		},
		Text:            65536,
		Markup:          media.MarkupWhatsApp,
		Files:           compose.MaxAlbum,
		LoopsAlone:      true,
		Poll:            compose.PollLimit,
		LargeAsDocument: true,
	}
}

// DefaultRates are slow: WhatsApp bans accounts that write like a machine, and
// nobody outside knows its limit. An album of ten files goes at once.
func DefaultRates() pace.Rates {
	return pace.Rates{Chat: pace.Rate{PerMinute: 12, Burst: 10}, Account: pace.Rate{PerMinute: 30, Burst: 20}}
}

// Name is the channel's name in longshore.yaml.
func (w *WhatsApp) Name() string { return w.opts.Name }

// Owns reports whether chat has the form of a WhatsApp group or person.
func (w *WhatsApp) Owns(chat groups.JID) bool { return chat.Channel() == "whatsapp" }

// Limits returns what Send takes.
func (w *WhatsApp) Limits() media.Limits { return w.opts.Limits }

// Repeat is keyed for ever: members' apps show an id once.
func (w *WhatsApp) Repeat() channel.Repeat { return channel.Repeat{Keyed: channel.Forever} }

// Connected reports whether WhatsApp would take a message now. If not, detail says
// what is wrong and what an operator does about it.
func (w *WhatsApp) Connected() (ok bool, detail string) {
	up, detail := w.link.Connected()
	s := w.live.Load()
	return up && s != nil && s.alive(), detail
}

// Typing shows or hides that the assistant is writing. WhatsApp hides it by itself
// after some seconds.
func (w *WhatsApp) Typing(ctx context.Context, chat groups.JID, _ string, on bool) {
	s := w.live.Load()
	to, err := types.ParseJID(string(chat))
	if s == nil || err != nil || !w.Owns(chat) || !s.connected() {
		return
	}
	state := types.ChatPresencePaused
	if on {
		state = types.ChatPresenceComposing
	}
	if err := s.client.SendChatPresence(ctx, to, state, types.ChatPresenceMediaText); err != nil {
		w.log.Debug("show typing", "chat", chat, "error", err)
	}
}

// enter returns Run's session, which is not closed before leave is called. inner
// ends with ctx and with the session.
func (w *WhatsApp) enter(ctx context.Context) (s *session, inner context.Context, leave func(), ok bool) {
	if s = w.live.Load(); s == nil {
		return nil, nil, nil, false
	}
	inner, leave, ok = s.gate.Enter(ctx)
	return s, inner, leave, ok
}

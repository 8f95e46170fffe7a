// Package whatsapp is the channel to WhatsApp: a linked device of somebody's
// account, through whatsmeow. docs/whatsapp.md takes an operator through it.
//
//	store/whatsapp.db            the device's keys and sessions (whatsmeow's own schema)
//	store/whatsapp-messages.db   what was sent lately, and what members wrote
//	store/whatsapp.lock          held by the one process that is connected
//	store/whatsapp-tmp/          ciphertext on its way; files without a name, swept at start
//
// The directory is 0700 and its files 0600: whoever has them is the device.
//
// # What goes out
//
// A message's id on WhatsApp is derived from [channel.Message.ID], so that a
// repeat carries the same one. Before it is handed over, the finished message
// is durable in whatsapp-messages.db, with the keys of the file that was
// uploaded for it; when WhatsApp has acknowledged it, that is durable too. So
// a repeat after a crash uploads nothing again, what was acknowledged is not
// sent again, and a member's device that cannot decrypt a message gets it
// again after a restart. What is left is the lost acknowledgement: then the
// same message with the same id is sent once more, and it is the members' app
// that shows it once.
//
// # What comes in
//
// A message of a member is acknowledged to WhatsApp only when it is durable in
// whatsapp-messages.db, and is handed to the Inbox from there, one at a time
// in each chat, until the Inbox keeps it. A file is downloaded when the Inbox
// reads it. Receipts of devices go through a bounded queue in memory; when it
// is full they are not acknowledged either, and WhatsApp repeats them.
//
// The package does not decide who may send what. It never reads history, does
// not show anything as read, and sends nothing by itself.
package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

var (
	_ channel.Channel = (*WhatsApp)(nil)
	_ channel.Status  = (*WhatsApp)(nil)
	_ channel.Typing  = (*WhatsApp)(nil)
)

// Options configures a WhatsApp. Only Dir is needed.
type Options struct {
	Dir        string        // the sessions' directory, made when missing
	DeviceName string        // as the phone lists it under linked devices; "Longshore" when empty
	Chats      []groups.JID  // those that count: messages of other chats are not even kept. Nil: all
	Limits     media.Limits  // what Send takes; DefaultLimits when zero
	Rates      Rates         // how often Send sends
	MaxInbound int64         // bytes of one file of a member; the limit for documents when 0
	AckTimeout time.Duration // how long Send waits for WhatsApp's word; 25 s when 0

	// Reserve, where not nil, is asked before so many bytes of temporary
	// ciphertext are written; release gives them back. An error makes Send fail
	// for the time being.
	Reserve func(bytes int64) (release func(), err error)

	HTTPClient *http.Client // for everything; nil: one of its own, proxies by environment
	NoTools    bool         // never run ffmpeg, ffprobe, pdfinfo or pdftoppm for thumbnails and durations
	Log        *slog.Logger // discarded when nil
}

// WhatsApp is the channel. New makes one, Run connects it.
type WhatsApp struct {
	opts   Options
	log    *slog.Logger
	http   *http.Client
	pacer  *pacer
	status status

	mu      sync.Mutex
	live    *session      // while Run has one
	paired  chan struct{} // closed and replaced when Pair or Unpair have changed the account
	version store.WAVersionContainer
	asked   bool // which version is the newest

	sending keyedLock // by WhatsApp's message id
	frames  chan struct{}
}

// New checks the options and makes the channel. It opens and starts nothing.
func New(opts Options) (*WhatsApp, error) {
	if opts.Dir == "" {
		return nil, errors.New("whatsapp: no directory given for the sessions")
	}
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("whatsapp: resolve directory: %w", err)
	}
	opts.Dir = dir
	if opts.DeviceName == "" {
		opts.DeviceName = "Longshore"
	}
	if opts.Limits.Kinds == nil {
		opts.Limits = DefaultLimits()
	}
	if opts.MaxInbound == 0 {
		opts.MaxInbound = opts.Limits.Kinds[media.Document].Bytes
	}
	if opts.AckTimeout == 0 {
		opts.AckTimeout = 25 * time.Second
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.HTTPClient == nil {
		opts.HTTPClient = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	takeSignalLog(opts.Log.With("channel", "whatsapp"))
	return &WhatsApp{
		opts:    opts,
		log:     opts.Log.With("channel", "whatsapp"),
		http:    opts.HTTPClient,
		pacer:   newPacer(opts.Rates),
		paired:  make(chan struct{}),
		version: store.GetWAVersion(),
		sending: keyedLock{held: map[string]chan struct{}{}},
		frames:  make(chan struct{}, 1),
	}, nil
}

// DefaultLimits are the sizes at which WhatsApp's own apps send a file in its
// kind. The text and caption limits are those of its apps. The server names
// none; documents of 2 GB are said to pass.
func DefaultLimits() media.Limits {
	return media.Limits{
		Kinds: map[media.Kind]media.Limit{
			media.Image:    {Bytes: 16 * media.MiB, Caption: 1024},
			media.Video:    {Bytes: 64 * media.MiB, Caption: 1024},
			media.Audio:    {Bytes: 16 * media.MiB},
			media.Voice:    {Bytes: 16 * media.MiB},
			media.Sticker:  {Bytes: media.MiB},
			media.Document: {Bytes: 100 * media.MiB, Caption: 1024},
		},
		Text:            65536,
		LargeAsDocument: true,
	}
}

// Name is "whatsapp".
func (w *WhatsApp) Name() string { return "whatsapp" }

// Owns says whether chat has the form of a WhatsApp group or person.
func (w *WhatsApp) Owns(chat groups.JID) bool { return chat.Channel() == w.Name() }

// Limits is what Send takes.
func (w *WhatsApp) Limits() media.Limits { return w.opts.Limits }

// Connected says whether WhatsApp would take a message now, and otherwise
// what is the matter and what an operator does about it.
func (w *WhatsApp) Connected() (ok bool, detail string) {
	s := w.session()
	if s == nil || !s.connected() {
		return false, w.status.detail(s == nil)
	}
	return true, w.status.detail(false)
}

// Typing shows or hides that the assistant writes. WhatsApp hides it by
// itself after some seconds.
func (w *WhatsApp) Typing(ctx context.Context, chat groups.JID, on bool) {
	s := w.session()
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

// session is what Run has open, or nil.
func (w *WhatsApp) session() *session {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.live
}

func (w *WhatsApp) setSession(s *session) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.live = s
}

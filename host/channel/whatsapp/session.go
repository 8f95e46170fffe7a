package whatsapp

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"go.mau.fi/whatsmeow"

	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/device"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/directory"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/librarylog"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/mediaserver"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/messages"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/outcome"
	stores "github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/media/probe"
)

// session holds the open stores and the library's client, for as long as this
// process is the linked device.
type session struct {
	w        *WhatsApp
	log      *slog.Logger
	gate     *link.Gate // Sends and the like are inside
	keys     *device.Keys
	people   directory.People
	messages messages.Store
	scratch  *transfer.Scratch
	probe    *probe.Prober

	unread unread

	client *whatsmeow.Client // nil before newClient, like the fields below
	media  *mediaserver.Client
	chats  *directory.Chats
	state  connState

	receipts chan receipt            // receipts that wait for the Inbox
	reports  link.Waiters[time.Time] // by the id of a message that is being sent: when a device's receipt came
}

// connState is what the library reports about its connection.
type connState struct {
	up, lost chan struct{}
	stops    chan *link.Stop // why WhatsApp has ended it for good; the first counts
	missed   atomic.Bool     // a member's message was not acknowledged because the disk was full
	renewed  bool            // a newer version is known; only connect uses it
	replaced time.Time       // when another program last had this device's keys; only connect uses it
}

// spec describes the device's store.
func (w *WhatsApp) spec() stores.Spec {
	return device.Spec(w.opts.Name, w.opts.Dir, w.opts.Home, w.opts.Server)
}

// open takes the lock and opens the device's store, and the journal if there is a state. The
// device may be unpaired.
func (w *WhatsApp) open(ctx context.Context) (_ *session, err error) {
	s := &session{
		w: w, log: w.log, gate: link.NewGate(ctx), receipts: make(chan receipt, maxReceipts),
		state: connState{up: make(chan struct{}, 1), lost: make(chan struct{}, 1), stops: make(chan *link.Stop, 1)},
	}
	keys, device, err := device.Open(ctx, w.spec(), w.log)
	if err != nil {
		return nil, err
	}
	s.keys, s.people = keys, directory.NewPeople(device)
	if s.scratch, err = transfer.OpenScratch(filepath.Join(w.opts.Dir, "whatsapp-tmp"), w.opts.Host.Reserve); err == nil {
		s.probe = probe.New(w.opts.Tools, s.scratch.File)
		err = s.openMessages(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// openMessages opens the journal. A session that only links an account beside a running host
// has none: it neither sends nor hears messages.
func (s *session) openMessages(ctx context.Context) (err error) {
	if s.w.opts.State == nil {
		return nil
	}
	s.messages.Journal, err = journal.Open(ctx, s.w.opts.State, platformKey, s.w.opts.Name, journal.Options{Disk: s.w.opts.Host, Log: s.log})
	if err != nil {
		return err
	}
	if err := s.endUnlinking(ctx); err != nil {
		return err
	}
	return s.loadUnread(ctx, time.Now())
}

// newClient makes the client that connect connects.
func (s *session) newClient() {
	c := whatsmeow.NewClient(s.people.Device, librarylog.New(s.log, s))
	c.EnableAutoReconnect = false // link reconnects, with an upper bound for the pause
	c.SynchronousAck = true       // an event is acknowledged after handle has recorded it
	c.EnableDecryptedEventBuffer = true
	c.ManualHistorySyncDownload = true
	c.BackgroundEventCtx = s.gate.Context()
	c.GetClientPayload = s.w.version.Payload(s.people.Device, s.w.opts.DeviceName)
	if s.messages.Journal != nil {
		c.GetMessageForRetry, c.PreRetryCallback = s.messageForRetry, s.onRetryRequest
	}
	c.SetPreLoginHTTPClient(s.w.http)
	c.SetWebsocketHTTPClient(s.w.http)
	media := *s.w.media
	media.Transport = mediaserver.Transport{Base: media.Transport}
	c.SetMediaHTTPClient(&media)
	s.client, s.chats = c, directory.NewChats(c, &s.people, s.log)
	s.media = mediaserver.New(c, s.scratch, s.w.opts.MaxInbound)
}

// alive reports whether the library considers itself connected and logged in. The
// library knows this before it reports it as an event.
func (s *session) alive() bool { return s.client.IsConnected() && s.client.IsLoggedIn() }

func (s *session) connected() bool { return s.w.link.Up() && s.alive() }

// reconnecting is how long a Send that has uploaded its file waits for a new
// connection.
const reconnecting = 10 * time.Second

func (s *session) waitConnected(ctx context.Context) error {
	err := s.w.link.Wait(ctx, reconnecting, s.alive)
	if ctx.Err() != nil && err != nil {
		return outcome.Cancelled(ctx)
	}
	return err
}

// close ends everything that uses the session, and closes the stores.
func (s *session) close() error {
	s.w.link.Down()
	if s.client != nil {
		s.client.Disconnect()
	}
	s.gate.Close()
	if s.client != nil {
		s.client.Disconnect() // closes a connection that was being made meanwhile
		s.client.RemoveEventHandlers()
	}
	s.w.http.CloseIdleConnections()
	s.w.media.CloseIdleConnections()
	return s.keys.Close()
}

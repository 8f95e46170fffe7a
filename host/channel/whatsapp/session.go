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
	state  state

	receipts chan receipt            // receipts that wait for the Inbox
	reports  link.Waiters[time.Time] // by the id of a message that is being sent: when a device's receipt came
}

// state is what the library reports about its connection.
type state struct {
	up, lost chan struct{}
	stops    chan *link.Stop // why WhatsApp has ended it for good; the first counts
	missed   atomic.Bool     // a member's message was not acknowledged because the disk was full
	renewed  bool            // a newer version is known; only connect uses it
}

// specs describes the device's store and the journal.
func (w *WhatsApp) specs() []stores.Spec {
	return device.Specs(w.opts.Name, w.opts.Dir, w.opts.Home)
}

// open takes the lock and opens the stores. The device may be unpaired.
func (w *WhatsApp) open(ctx context.Context) (_ *session, err error) {
	specs := w.specs()
	s := &session{
		w: w, log: w.log, gate: link.NewGate(ctx), receipts: make(chan receipt, maxReceipts),
		state: state{up: make(chan struct{}, 1), lost: make(chan struct{}, 1), stops: make(chan *link.Stop, 1)},
	}
	keys, device, err := device.Open(ctx, specs[0], w.log)
	if err != nil {
		return nil, err
	}
	s.keys, s.people = keys, directory.NewPeople(device)
	if s.scratch, err = transfer.OpenScratch(filepath.Join(w.opts.Dir, "whatsapp-tmp"), w.opts.Host.Reserve); err == nil {
		s.probe = probe.New(w.opts.Tools, s.scratch.File)
		s.messages.Journal, err = journal.Open(ctx, specs[1], journal.Options{Disk: w.opts.Host, Log: w.log})
	}
	if err == nil {
		err = s.loadUnread(ctx, time.Now())
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
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
	c.GetMessageForRetry = s.messageForRetry
	c.PreRetryCallback = s.onRetryRequest
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
	var errs []error
	if s.client != nil {
		s.client.Disconnect() // closes a connection that was being made meanwhile
		s.client.RemoveEventHandlers()
	}
	if s.messages.Journal != nil {
		errs = append(errs, s.messages.Close())
	}
	s.w.http.CloseIdleConnections()
	s.w.media.CloseIdleConnections()
	return errors.Join(append(errs, s.keys.Close())...)
}

// wake wakes the receiver of c. It never blocks, since one wake-up is enough.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

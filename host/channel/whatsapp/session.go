package whatsapp

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/store/sqlstore"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/groups"
)

// session is the open store with its client: the time in which this process is
// the linked device.
type session struct {
	w          *WhatsApp
	log        *slog.Logger
	lock       *os.File
	db         *sql.DB // the container's
	container  *sqlstore.Container
	ledger     *ledger
	device     *store.Device
	client     *whatsmeow.Client
	tools      tools
	registered map[groups.JID]bool // nil: all chats

	self, selfLID types.JID // set before the client connects

	ready  atomic.Bool     // between Connected and the loss of the connection
	change notice          // of ready
	ctx    context.Context // ends when the session does
	cancel context.CancelFunc

	stops    chan stopped  // what the platform ended it with; the first counts
	lost     chan struct{} // the connection went
	up       chan struct{} // the connection is there
	wake     chan struct{} // the ledger has new inbound messages
	receipts chan receipt

	decoding sync.Mutex // one picture at a time

	chatsMu sync.Mutex
	chats   map[types.JID]chatFacts

	retriesMu sync.Mutex
	retries   map[string]chan *events.MediaRetry // by message id

	usersMu sync.Mutex
	closing bool
	users   sync.WaitGroup // Sends and the like
}

type stopped struct {
	stop
	more string
}

// open takes the lock and opens the store. The device may be unpaired.
func (w *WhatsApp) open(ctx context.Context) (*session, error) {
	if err := makePrivate(w.opts.Dir); err != nil {
		return nil, err
	}
	lock, err := lockFile(filepath.Join(w.opts.Dir, "whatsapp.lock"))
	if err != nil {
		return nil, err
	}
	s := &session{
		w: w, log: w.log, lock: lock, tools: tools{off: w.opts.NoTools},
		stops: make(chan stopped, 1), lost: make(chan struct{}, 1), up: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		receipts: make(chan receipt, maxReceipts), chats: map[types.JID]chatFacts{}, retries: map[string]chan *events.MediaRetry{},
	}
	s.change.c = make(chan struct{})
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := s.openStore(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if w.opts.Chats != nil {
		s.registered = make(map[groups.JID]bool, len(w.opts.Chats))
		for _, c := range w.opts.Chats {
			s.registered[c] = true
		}
	}
	return s, nil
}

// newClient makes the client that connect connects.
func (s *session) newClient() {
	c := whatsmeow.NewClient(s.device, libraryLog{log: s.log})
	c.EnableAutoReconnect = false // stayConnected does, with an upper bound
	c.SynchronousAck = true       // acknowledged is what handle has kept
	c.EnableDecryptedEventBuffer = true
	c.ManualHistorySyncDownload = true
	c.BackgroundEventCtx = s.ctx
	c.GetClientPayload = s.w.payload(s.device)
	c.GetMessageForRetry = s.messageForRetry
	c.SetPreLoginHTTPClient(s.w.http)
	c.SetWebsocketHTTPClient(s.w.http)
	media := *s.w.http
	base := media.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	media.Transport = mediaTransport{base: base}
	c.SetMediaHTTPClient(&media)
	s.client = c
}

// messageForRetry is asked for a message that a member's device could not
// decrypt, when the library's own memory of 256 no longer has it.
func (s *session) messageForRetry(_, _ types.JID, id types.MessageID) *waE2E.Message {
	m, err := s.ledger.sent(s.ctx, id)
	if err != nil {
		s.log.Error("look up a message that a device asks for again", "error", err)
	}
	if m == nil {
		return nil
	}
	return m.message
}

func (s *session) connected() bool {
	return s.ready.Load() && s.client.IsConnected() && s.client.IsLoggedIn()
}

// reconnecting is how long a Send that has its file uploaded waits for the
// connection to come back.
const reconnecting = 10 * time.Second

func (s *session) waitConnected(ctx context.Context) error {
	timer := time.NewTimer(reconnecting)
	defer timer.Stop()
	for {
		changed := s.change.next()
		if s.connected() {
			return nil
		}
		if err := s.w.status.held(); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-timer.C:
			return notConnected(nil)
		case <-ctx.Done():
			return ended(ctx)
		}
	}
}

// enter keeps the session open until leave.
func (s *session) enter() bool {
	s.usersMu.Lock()
	defer s.usersMu.Unlock()
	if s.closing {
		return false
	}
	s.users.Add(1)
	return true
}

func (s *session) leave() { s.users.Done() }

// until is ctx, but ends with the session.
func (s *session) until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// close ends everything that uses the session and frees it.
func (s *session) close() error {
	s.usersMu.Lock()
	s.closing = true
	s.usersMu.Unlock()
	s.ready.Store(false)
	s.change.tell()
	if s.client != nil {
		s.client.Disconnect()
	}
	s.cancel()
	s.users.Wait()
	var errs []error
	if s.client != nil {
		s.client.Disconnect() // a connection that was being made meanwhile
		s.client.RemoveEventHandlers()
	}
	if s.ledger != nil {
		errs = append(errs, s.ledger.close())
	}
	if s.container != nil {
		errs = append(errs, s.container.Close())
	}
	s.w.http.CloseIdleConnections()
	return errors.Join(append(errs, s.lock.Close())...)
}

// notice tells many waiters of a change.
type notice struct {
	mu sync.Mutex
	c  chan struct{}
}

func (n *notice) next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.c
}

func (n *notice) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.c)
	n.c = make(chan struct{})
}

// poke wakes a receiver that may be busy; one wake-up is enough.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

package whatsapptest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/store/sqlstore"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/proto"
	_ "modernc.org/sqlite" // the driver of a member's store
)

// Member is a person in a chat with a real whatsmeow client, of which tests
// ask what arrived.
type Member struct {
	Client *whatsmeow.Client
	Phone  *Phone // set once paired

	srv *Server
	db  *sql.DB

	mu      sync.Mutex
	events  []any
	next    int // of the first event that Next has not looked at
	changed chan struct{}
}

// setupTime bounds what NewMember does: pairing takes half a second, ten
// times that under the race detector on a busy machine.
const setupTime = 60 * time.Second

// NewMember makes a phone of that number and name, where the server has none
// yet, pairs a client with it by QR code and logs in. The client is
// disconnected and its store closed when the test ends.
func (s *Server) NewMember(t testing.TB, number, name string) *Member {
	t.Helper()
	p := s.Phone(number)
	if p == nil {
		p = s.AddPhone(number, name)
	}
	m := s.NewClient(t)
	ctx, cancel := context.WithTimeout(context.Background(), setupTime)
	defer cancel()
	if err := m.PairQR(ctx, p); err != nil {
		t.Fatalf("pair member %s: %v", number, err)
	}
	return m
}

// NewClient makes a client that is not paired and not connected.
func (s *Server) NewClient(t testing.TB) *Member {
	t.Helper()
	if [32]byte(Root()) != whatsmeow.WACertPubKey {
		t.Fatal("clients do not trust this server: call TrustRoot(Root()) in TestMain")
	}
	path := filepath.Join(t.TempDir(), "member.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=foreign_keys(1)&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(0)")
	if err != nil {
		t.Fatal(err)
	}
	container := sqlstore.NewWithDB(db, "sqlite", s.opts.ClientLog)
	if err := container.Upgrade(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := &Member{srv: s, db: db, changed: make(chan struct{})}
	m.Client = whatsmeow.NewClient(container.NewDevice(), s.opts.ClientLog)
	m.Client.SetPreLoginHTTPClient(s.client)
	m.Client.SetWebsocketHTTPClient(s.client)
	m.Client.SetMediaHTTPClient(s.client)
	m.Client.ManualHistorySyncDownload = true
	m.Client.AddEventHandler(m.note)
	t.Cleanup(func() {
		m.Disconnect()
		_ = container.Close()
	})
	return m
}

// PairQR shows a QR code, scans it with the phone and waits for the login.
func (m *Member) PairQR(ctx context.Context, p *Phone) error {
	codes, err := m.codes(ctx)
	if err != nil {
		return err
	}
	if _, err := p.Scan(ctx, codes[0]); err != nil {
		return err
	}
	return m.loggedIn(ctx, p)
}

// PairCode asks for a code for the phone's number, types it into the phone
// and waits for the login.
func (m *Member) PairCode(ctx context.Context, p *Phone) error {
	if _, err := m.codes(ctx); err != nil {
		return err
	}
	code, err := m.Client.PairPhone(ctx, p.number, true, whatsmeow.PairClientChrome, "Chrome (Linux)")
	if err != nil {
		return err
	}
	if _, err := p.EnterCode(ctx, code); err != nil {
		return err
	}
	return m.loggedIn(ctx, p)
}

func (m *Member) codes(ctx context.Context) ([]string, error) {
	if err := m.Client.Connect(); err != nil {
		return nil, err
	}
	e, err := Await[*events.QR](ctx, m, 0, nil)
	if err != nil {
		return nil, fmt.Errorf("wait for qr codes: %w", err)
	}
	return e.Codes, nil
}

func (m *Member) loggedIn(ctx context.Context, p *Phone) error {
	m.Phone = p
	m.Client.SetForceActiveDeliveryReceipts(true)
	if _, err := Await[*events.Connected](ctx, m, 0, nil); err != nil {
		return fmt.Errorf("wait for login: %w", err)
	}
	return nil
}

// settleTime bounds how long Disconnect waits for what is under way. It is
// waited out only where a fault swallowed something.
const settleTime = time.Second

// Disconnect disconnects after what is under way has come to rest: receipts
// are with the server, and its last answer was read. whatsmeow itself races
// when it sends while it disconnects, and leaks the goroutine that reads when a
// frame arrives just then.
func (m *Member) Disconnect() {
	if m.Phone != nil && m.Phone.Online() && m.Client.IsLoggedIn() {
		ctx, cancel := context.WithTimeout(context.Background(), settleTime)
		defer cancel()
		_ = m.CaughtUp(ctx)
	}
	m.Client.Disconnect()
}

// Reconnect disconnects, if connected, and logs in again.
func (m *Member) Reconnect(ctx context.Context) error {
	m.Disconnect()
	since := m.Mark()
	if err := m.Client.Connect(); err != nil {
		return err
	}
	_, err := Await[*events.Connected](ctx, m, since, nil)
	return err
}

// WipeSessions forgets all Signal sessions and sender keys, as a device whose
// store was damaged. What arrives next does not decrypt, and is asked for again.
func (m *Member) WipeSessions(ctx context.Context) error {
	var all error
	for _, table := range []string{"whatsmeow_sessions", "whatsmeow_sender_keys"} {
		_, err := m.db.ExecContext(ctx, "DELETE FROM "+table)
		all = errors.Join(all, err)
	}
	return all
}

// SendText sends a text and returns the message's id.
func (m *Member) SendText(ctx context.Context, chat types.JID, text string) (types.MessageID, error) {
	return m.Send(ctx, chat, &waE2E.Message{Conversation: proto.String(text)})
}

// Send sends any message and returns its id once the server has acked it. Of
// a file in it the phone keeps the key, so that it can be asked for again.
func (m *Member) Send(ctx context.Context, chat types.JID, message *waE2E.Message) (types.MessageID, error) {
	id := m.Client.GenerateMessageID()
	if f, ok := Downloadable(message).(interface {
		whatsmeow.DownloadableMessage
		GetFileEncSHA256() []byte
	}); ok {
		m.srv.mu.Lock()
		m.srv.fileKey[id] = ownedFile{key: f.GetMediaKey(), name: fmt.Sprintf("%x", f.GetFileEncSHA256())}
		m.srv.mu.Unlock()
	}
	_, err := m.Client.SendMessage(ctx, chat, message, whatsmeow.SendRequestExtra{ID: id})
	return id, err
}

// MarkRead tells a message's sender that it was read.
func (m *Member) MarkRead(ctx context.Context, e *events.Message) error {
	return m.Client.MarkRead(ctx, []types.MessageID{e.Info.ID}, time.Now(), e.Info.Chat, e.Info.Sender)
}

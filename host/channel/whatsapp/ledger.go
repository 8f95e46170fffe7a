package whatsapp

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/longshore-bridge/longshore/groups"
)

// What the ledger keeps of messages that are done with.
const (
	keepMessages = 1000
	keepFor      = 7 * 24 * time.Hour
)

// synchronous=FULL: what is acknowledged to WhatsApp must be on the disk.
const ledgerPragmas = "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate"

const ledgerSchema = `
CREATE TABLE IF NOT EXISTS sent (
	id      TEXT PRIMARY KEY,            -- WhatsApp's
	chat    TEXT NOT NULL,
	message BLOB NOT NULL,               -- waE2E.Message
	note    TEXT NOT NULL,               -- of its receipt
	created INTEGER NOT NULL,            -- ns
	acked   INTEGER NOT NULL DEFAULT 0   -- ns, WhatsApp's time; 0: not acknowledged
);
CREATE INDEX IF NOT EXISTS sent_created ON sent (created);
CREATE TABLE IF NOT EXISTS inbound (
	seq      INTEGER PRIMARY KEY AUTOINCREMENT,
	chat     TEXT NOT NULL,              -- as the Inbox knows it
	id       TEXT NOT NULL,
	sender   TEXT NOT NULL,              -- a WhatsApp JID without its device
	info     BLOB NOT NULL,              -- JSON of inboundInfo
	message  BLOB NOT NULL,              -- waE2E.Message
	received INTEGER NOT NULL,           -- ns
	done     INTEGER NOT NULL DEFAULT 0, -- 1: the Inbox has kept it
	UNIQUE (chat, id, sender)
);
CREATE INDEX IF NOT EXISTS inbound_open ON inbound (chat, seq) WHERE done = 0;
CREATE INDEX IF NOT EXISTS inbound_id ON inbound (chat, id);
`

// ledger is whatsapp-messages.db.
type ledger struct {
	db *sql.DB
}

func openLedger(ctx context.Context, dir string) (*ledger, error) {
	db, err := openDatabase(filepath.Join(dir, "whatsapp-messages.db"), ledgerPragmas)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, ledgerSchema); err != nil {
		return nil, errors.Join(fmt.Errorf("open whatsapp messages: %w", err), db.Close())
	}
	l := &ledger{db: db}
	if err := l.prune(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return l, nil
}

// openDatabase makes the file before SQLite does, so that nobody else can read
// it at any time; its -wal and -shm files get the same mode.
func openDatabase(path, pragmas string) (*sql.DB, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open whatsapp store: %w", err)
	}
	if err := errors.Join(f.Chmod(0o600), f.Close()); err != nil {
		return nil, fmt.Errorf("open whatsapp store: %w", err)
	}
	db, err := sql.Open("sqlite", "file:"+path+pragmas)
	if err != nil {
		return nil, fmt.Errorf("open whatsapp store: %w", err)
	}
	return db, nil
}

func (l *ledger) close() error { return l.db.Close() }

// sentMessage is a row of sent.
type sentMessage struct {
	id      string
	chat    groups.JID
	message *waE2E.Message
	note    string
	created time.Time
	acked   time.Time // zero: not acknowledged
}

// sent looks a message up; nil where it is not known.
func (l *ledger) sent(ctx context.Context, id string) (*sentMessage, error) {
	var m sentMessage
	var blob []byte
	var created, acked int64
	err := l.db.QueryRowContext(ctx, `SELECT id, chat, message, note, created, acked FROM sent WHERE id = ?`, id).
		Scan(&m.id, &m.chat, &blob, &m.note, &created, &acked)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up sent message: %w", err)
	}
	m.message = &waE2E.Message{}
	if err := proto.Unmarshal(blob, m.message); err != nil {
		return nil, fmt.Errorf("look up sent message: %w", err)
	}
	m.created = time.Unix(0, created)
	if acked != 0 {
		m.acked = time.Unix(0, acked)
	}
	return &m, nil
}

// putSent makes a finished message durable before it is handed over.
func (l *ledger) putSent(ctx context.Context, m sentMessage) error {
	blob, err := proto.Marshal(m.message)
	if err != nil {
		return fmt.Errorf("record message: %w", err)
	}
	_, err = l.db.ExecContext(ctx, `INSERT INTO sent (id, chat, message, note, created) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET message = excluded.message, note = excluded.note, created = excluded.created`,
		m.id, string(m.chat), blob, m.note, m.created.UnixNano())
	if err != nil {
		return fmt.Errorf("record message: %w", err)
	}
	return nil
}

// ackSent makes WhatsApp's word durable.
func (l *ledger) ackSent(ctx context.Context, id string, at time.Time) error {
	if _, err := l.db.ExecContext(ctx, `UPDATE sent SET acked = ? WHERE id = ?`, at.UnixNano(), id); err != nil {
		return fmt.Errorf("record acknowledgement: %w", err)
	}
	return nil
}

// prune forgets what is old or too much. Members' messages that nobody has
// kept yet stay, and so do our own that WhatsApp has not acknowledged, until
// their time is over.
func (l *ledger) prune(ctx context.Context) error {
	old := time.Now().Add(-keepFor).UnixNano()
	for _, q := range []string{
		`DELETE FROM sent WHERE created < ?1`,
		`DELETE FROM sent WHERE acked != 0 AND created < (SELECT created FROM sent ORDER BY created DESC LIMIT 1 OFFSET ?2)`,
		`DELETE FROM inbound WHERE done = 1 AND received < ?1`,
		`DELETE FROM inbound WHERE done = 1 AND seq <= (SELECT seq FROM inbound ORDER BY seq DESC LIMIT 1 OFFSET ?2)`,
	} {
		if _, err := l.db.ExecContext(ctx, q, old, keepMessages); err != nil {
			return fmt.Errorf("prune whatsapp messages: %w", err)
		}
	}
	return nil
}

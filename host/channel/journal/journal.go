// Package journal is a channel's memory on disk: one SQLite database for each
// account of a platform.
//
// It holds the messages of members from the moment at which the platform is told
// that we have them until the host keeps them, each once and in the order of its
// chat. It holds what was sent, finished as the platform gets it, so that a
// repeat after a crash is the same message. And it remembers both for a while,
// for quotes, and for a device that asks again.
//
// What is done with is forgotten after 7 days, and beyond 1000 messages each way.
// Of events, which are what members do to messages, the latest 500 are kept,
// whether the host has them or not: a flood of reactions takes no room from
// messages.
//
// The journal does not look into messages: their bodies are the channel's own.
package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/store"
)

// What is kept of messages that are done with.
const (
	keepMessages = 1000
	keepEvents   = 500
	keepFor      = 7 * 24 * time.Hour
	pruneEvery   = time.Hour
	pruneAfter   = 100 // messages of members, so that no flood outgrows keepMessages by more
)

const schema = `
CREATE TABLE IF NOT EXISTS sent (
	id      TEXT PRIMARY KEY,            -- the platform's
	chat    TEXT NOT NULL,
	message BLOB NOT NULL,               -- Sent.Body
	note    TEXT NOT NULL,               -- of its receipt
	created INTEGER NOT NULL,            -- ns
	acked   INTEGER NOT NULL DEFAULT 0   -- ns, the platform's time; 0: not acknowledged
);
CREATE INDEX IF NOT EXISTS sent_created ON sent (created);
CREATE TABLE IF NOT EXISTS inbound (
	seq      INTEGER PRIMARY KEY AUTOINCREMENT,
	chat     TEXT NOT NULL,              -- as the Inbox knows it
	id       TEXT NOT NULL,
	sender   TEXT NOT NULL,
	info     BLOB NOT NULL,              -- Inbound.Info
	message  BLOB NOT NULL,              -- Inbound.Body
	received INTEGER NOT NULL,           -- ns
	done     INTEGER NOT NULL DEFAULT 0, -- 1: the Inbox has kept it
	UNIQUE (chat, id, sender)
);
CREATE INDEX IF NOT EXISTS inbound_open ON inbound (chat, seq) WHERE done = 0;
CREATE INDEX IF NOT EXISTS inbound_id ON inbound (chat, id);
` + eventSchema + factSchema

// eventSchema is what version 2 adds: which of inbound are events.
const eventSchema = `CREATE TABLE IF NOT EXISTS event (seq INTEGER PRIMARY KEY);`

// Spec describes the journal of a channel in dir, <platform>-messages.db. The
// channel holds the lock <platform>.lock while the journal is open.
func Spec(channel, platform, dir string, home store.Home) store.Spec {
	return store.Spec{
		Name: channel + "-messages", With: channel, Dir: dir, File: platform + "-messages.db", Lock: platform + ".lock", Home: home,
		Schema: schema, Steps: []string{eventSchema, factSchema}, TxLock: "immediate",
		// FULL: what is acknowledged to the platform must be on the disk.
		Pragmas: []string{"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)"},
	}
}

// ErrNoRoom is what Keep returns while the disk is almost full.
var ErrNoRoom = errors.New("the disk has no room for what members write")

// Disk says why the disk has no room for members' messages; nil: it has.
type Disk interface{ Room() error }

// Options of a Journal; the zero value will do.
type Options struct {
	// Disk, if not nil, is asked before a member's message is kept.
	Disk Disk
	// Fresh is how long a message is known at least, however many come after it.
	Fresh time.Duration
	Log   *slog.Logger // discarded when nil
}

// Journal is an open journal. Its methods may be called from several goroutines.
type Journal struct {
	Options
	db     *store.DB
	commit *store.Committer // of all that is written: what comes together is durable together
	news   chan struct{}    // holds a value after Keep

	mu   sync.Mutex
	kept int // messages of members since the last prune
}

// Open opens the journal that spec describes. The caller holds the lock, and calls
// Close.
func Open(ctx context.Context, spec store.Spec, o Options) (*Journal, error) {
	db, err := store.Open(ctx, spec)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(3)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	j := &Journal{Options: o, db: db, news: make(chan struct{}, 1)}
	if j.commit, err = db.Committer(ctx, nil); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if err := j.forgetOld(ctx); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// Close closes the database.
func (j *Journal) Close() error { return errors.Join(j.commit.Close(), j.db.Close()) }

// poke has Hand look for messages.
func (j *Journal) poke() {
	select {
	case j.news <- struct{}{}:
	default: // it is going to look
	}
}

// HasRoom returns ErrNoRoom while the disk has no room for members' messages.
func (j *Journal) HasRoom() error {
	if j.Disk == nil {
		return nil
	}
	if err := j.Disk.Room(); err != nil {
		return fmt.Errorf("%w: %w", ErrNoRoom, err)
	}
	return nil
}

// Clear deletes all messages.
func (j *Journal) Clear(ctx context.Context) error {
	return j.do(ctx, "forget messages", func(t *store.Tx) error {
		for _, q := range []string{`DELETE FROM sent`, `DELETE FROM inbound`, `DELETE FROM event`} {
			if _, err := t.Exec(q); err != nil {
				return err
			}
		}
		return nil
	})
}

// noEvent is what holds of a member's message.
const noEvent = `seq NOT IN (SELECT seq FROM event)`

// forgetOld forgets what is old or too much. Members' messages that nobody has
// kept yet stay, and so do our own that the platform has not acknowledged, until
// their time is over.
func (j *Journal) forgetOld(ctx context.Context) error {
	old, fresh := time.Now().Add(-keepFor).UnixNano(), time.Now().Add(-j.Fresh).UnixNano()
	err := j.do(ctx, "forget old messages", func(t *store.Tx) error {
		for _, q := range []string{
			`DELETE FROM sent WHERE created < ?1`,
			`DELETE FROM sent WHERE acked != 0 AND created < (SELECT created FROM sent ORDER BY created DESC LIMIT 1 OFFSET ?2)`,
			`DELETE FROM inbound WHERE done = 1 AND received < ?1`,
			`DELETE FROM inbound WHERE done = 1 AND seq <= (SELECT seq FROM inbound WHERE ` + noEvent + ` ORDER BY seq DESC LIMIT 1 OFFSET ?2)
				AND received <= ?4 AND ` + noEvent,
			`DELETE FROM inbound WHERE seq IN (SELECT seq FROM event ORDER BY seq DESC LIMIT -1 OFFSET ?3)`,
			`DELETE FROM event WHERE seq NOT IN (SELECT seq FROM inbound)`,
		} {
			if _, err := t.Exec(q, old, keepMessages, keepEvents, fresh); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.kept = 0
	return nil
}

// prune is forgetOld for callers that cannot return its error.
func (j *Journal) prune(ctx context.Context) {
	if err := j.forgetOld(ctx); err != nil && ctx.Err() == nil {
		j.Log.Error("forget old messages", "error", err)
	}
}

// do makes changes durable, together with those of others that wait.
func (j *Journal) do(ctx context.Context, what string, change func(t *store.Tx) error) error {
	if err := j.commit.Do(ctx, change, nil); err != nil {
		return fmt.Errorf("%s: %w", what, store.Words(err))
	}
	return nil
}

// exec is do for a constant statement.
func (j *Journal) exec(ctx context.Context, what, query string, args ...any) error {
	return j.do(ctx, what, func(t *store.Tx) error {
		_, err := t.Exec(query, args...)
		return err
	})
}

// Package journal is a channel's memory in the host's state.
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
// The journal does not look into messages: their bodies are the channel's own. Each channel bounds
// them by the largest message of its platform, and keeps words in place of a larger one.
package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
)

// What is kept of messages that are done with.
const (
	keepMessages = 1000
	keepEvents   = 500
	keepFor      = 7 * 24 * time.Hour
	keepFormer   = 365 * 24 * time.Hour // anything of a channel that is not configured
	pruneEvery   = time.Hour
	pruneAfter   = 100 // messages of members, so that no flood outgrows keepMessages by more
	chunk        = 100 // rows that one commit deletes: nobody waits long for the writer
)

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

// Journal is one channel's part of the state's tables. Its methods may be called from several
// goroutines.
type Journal struct {
	Options
	db      *state.DB
	channel string
	news    chan struct{} // holds a value after Keep

	mu   sync.Mutex
	kept int // messages of members since the last prune
}

// Open returns the journal of the channel of that platform and name. The state stays the caller's.
// A channel that gets the name of one of another platform has a journal of its own.
func Open(ctx context.Context, db *state.DB, platform, name string, o Options) (*Journal, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	j := &Journal{Options: o, db: db, channel: Key(platform, name), news: make(chan struct{}, 1)}
	return j, j.forgetOld(ctx)
}

// Key is how the tables call the channel of that platform and name.
func Key(platform, name string) string {
	if name == platform {
		return name
	}
	return platform + "/" + name
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

// The beginnings of what deletes some rows of a channel. A condition and then the end follow.
const (
	someSent    = `DELETE FROM journal_sent WHERE channel = ?1 AND id IN (SELECT id FROM journal_sent WHERE channel = ?1`
	someInbound = `DELETE FROM journal_inbound WHERE seq IN (SELECT seq FROM journal_inbound WHERE channel = ?1`
	atMost      = ` LIMIT ?2)`
)

// Clear deletes all messages and facts, in one commit: the journal bounds how many there are.
func (j *Journal) Clear(ctx context.Context) error {
	err := j.db.Do(ctx, func(t *state.Tx) error {
		for _, all := range []string{
			`DELETE FROM journal_sent WHERE channel = ?`, `DELETE FROM journal_inbound WHERE channel = ?`, `DELETE FROM journal_fact WHERE channel = ?`,
		} {
			if err := t.Exec(all, j.channel); err != nil {
				return err
			}
		}
		return nil
	}, nil)
	if err != nil {
		return fmt.Errorf("clear the journal: %w", store.Words(err))
	}
	return nil
}

// forgetOld forgets what is old or too much. Members' messages that are not done stay, and so
// do our own that the platform has not acknowledged, until their time is over.
func (j *Journal) forgetOld(ctx context.Context) error {
	old, fresh := time.Now().Add(-keepFor).UnixNano(), time.Now().Add(-j.Fresh).UnixNano()
	for _, some := range []struct {
		query string
		args  []any
	}{
		{someSent + ` AND created < ?3` + atMost, []any{old}},
		{someSent + ` AND acked <> 0 AND created <
			(SELECT created FROM journal_sent WHERE channel = ?1 ORDER BY created DESC LIMIT 1 OFFSET ?3)` + atMost, []any{keepMessages}},
		{someInbound + ` AND state = 'done' AND received < ?3` + atMost, []any{old}},
		{someInbound + ` AND state = 'done' AND event = 0 AND received <= ?4 AND seq <=
			(SELECT seq FROM journal_inbound WHERE channel = ?1 AND event = 0 ORDER BY seq DESC LIMIT 1 OFFSET ?3)` + atMost, []any{keepMessages, fresh}},
		{someInbound + ` AND event = 1 AND seq <=
			(SELECT seq FROM journal_inbound WHERE channel = ?1 AND event = 1 ORDER BY seq DESC LIMIT 1 OFFSET ?3)` + atMost, []any{keepEvents}},
	} {
		if err := j.forget(ctx, some.query, some.args...); err != nil {
			return err
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.kept = 0
	return nil
}

// ForgetFormer forgets what is old of the channels whose keys are not among the configured ones. Members'
// messages that are not done, and facts, stay for a year: the channel may come back.
func ForgetFormer(ctx context.Context, db *state.DB, configured []string) error {
	former := time.Now().Add(-keepFormer).UnixNano()
	for name := ""; ; {
		if err := db.QueryRowContext(ctx, `SELECT COALESCE(MIN(channel), '') FROM (SELECT MIN(channel) AS channel FROM journal_inbound WHERE channel > ?1
			UNION ALL SELECT MIN(channel) FROM journal_sent WHERE channel > ?1 UNION ALL SELECT MIN(channel) FROM journal_fact WHERE channel > ?1) AS later`,
			name).Scan(&name); err != nil {
			return fmt.Errorf("look for channels: %w", store.Words(err))
		}
		if name == "" {
			return nil
		}
		if slices.Contains(configured, name) {
			continue
		}
		j := &Journal{db: db, channel: name}
		if err := j.forgetOld(ctx); err != nil {
			return err
		}
		for _, query := range []string{
			someInbound + ` AND received < ?3` + atMost,
			`DELETE FROM journal_fact WHERE channel = ?1 AND key IN (SELECT key FROM journal_fact WHERE channel = ?1 AND used < ?3` + atMost,
		} {
			if err := j.forget(ctx, query, former); err != nil {
				return err
			}
		}
	}
}

// forget deletes rows until none is left, a few in each commit: others write between them.
func (j *Journal) forget(ctx context.Context, query string, args ...any) error {
	args = append([]any{j.channel, chunk}, args...)
	for {
		n, err := j.db.Exec(ctx, query, args...)
		if err != nil {
			return fmt.Errorf("forget messages: %w", store.Words(err))
		}
		if n < chunk {
			return nil
		}
	}
}

// prune is forgetOld for callers that cannot return its error.
func (j *Journal) prune(ctx context.Context) {
	if err := j.forgetOld(ctx); err != nil && ctx.Err() == nil {
		j.Log.Error("forget old messages", "error", err)
	}
}

// exec makes a change durable, by a constant statement.
func (j *Journal) exec(ctx context.Context, what, query string, args ...any) error {
	if _, err := j.db.Exec(ctx, query, args...); err != nil {
		return fmt.Errorf("%s: %w", what, store.Words(err))
	}
	return nil
}

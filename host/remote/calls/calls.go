// Package calls records the calls of assistants elsewhere. The same call again, by its key, is
// the delivery that the first one made.
package calls

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/longshore-bridge/longshore/host/channel/httpd"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/ipc"
)

// Call is a recorded call.
type Call struct {
	ID        string // of the delivery
	Made      time.Time
	Cancelled bool
	New       bool // recorded just now: nobody has submitted it before
}

// Schema is the table of calls.
const Schema = `
CREATE TABLE call (
	id TEXT PRIMARY KEY, folder TEXT NOT NULL, thread TEXT NOT NULL, key TEXT, content BLOB NOT NULL,
	made INTEGER NOT NULL, withdrawn INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX call_key ON call (folder, thread, key) WHERE key IS NOT NULL;
CREATE INDEX call_made ON call (made);`

var (
	// ErrUnknown is the answer to an id of no delivery.
	ErrUnknown = httpd.Refuse(http.StatusNotFound, ipc.CodeUnknown, "no delivery of this conversation has this id", "use the id that the call returned; results are kept for a week")
	errTooMany = httpd.Refuse(http.StatusTooManyRequests, "busy", "this group has made too many calls in the last days", "call less often; a repeated call with its key is still known")
)

// Store records calls in a database. Its methods may be called from several goroutines.
type Store struct {
	db        *store.DB
	add, find *sql.Stmt // closed with the database
	counts    counts
	locks     locks
}

// New returns the calls in a database that has Schema, with at most most of each group.
func New(ctx context.Context, db *store.DB, most int) (*Store, error) {
	s := &Store{db: db, counts: counts{most: most}}
	for query, to := range map[string]**sql.Stmt{
		`INSERT INTO call (id, folder, thread, key, content, made) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`: &s.add,
		`SELECT id, made, withdrawn FROM call WHERE id = ? AND folder = ? AND thread = ?`:                            &s.find,
	} {
		var err error
		if *to, err = db.PrepareContext(ctx, query); err != nil {
			return nil, fmt.Errorf("prepare the store of calls: %w", store.Words(err))
		}
	}
	return s, s.counts.read(ctx, db)
}

// Record records a call, or returns the one that its conversation has made before under the
// same key. The error is a *httpd.Problem if that had another content, or if the group has made
// too many.
func (s *Store) Record(ctx context.Context, who tokens.Identity, key string, content []byte) (Call, error) {
	u, err := uuid.NewV7()
	if err != nil {
		return Call{}, fmt.Errorf("make an id: %w", err)
	}
	if s.counts.full(who.Folder) {
		return s.repeated(ctx, who, key, content)
	}
	c := Call{ID: u.String(), Made: time.UnixMicro(time.Now().UnixMicro()), New: true}
	done, err := s.add.ExecContext(ctx,
		c.ID, who.Folder, who.Thread, sql.NullString{String: key, Valid: key != ""}, content, c.Made.UnixMicro())
	if err != nil {
		return Call{}, fmt.Errorf("record a call: %w", store.Words(err))
	}
	if n, err := done.RowsAffected(); err != nil || n == 1 {
		s.counts.add(who.Folder, 1)
		return c, err
	}
	return s.repeated(ctx, who, key, content)
}

// repeated returns the call that its conversation has made before under a key. The error is
// errTooMany if there is none, as the group may have no other.
func (s *Store) repeated(ctx context.Context, who tokens.Identity, key string, content []byte) (Call, error) {
	var before []byte
	c, err := scan(s.db.QueryRowContext(ctx, `SELECT id, made, withdrawn, content FROM call WHERE folder = ? AND thread = ? AND key = ?`,
		who.Folder, who.Thread, key), errTooMany, &before)
	if err == nil && !bytes.Equal(before, content) {
		return Call{}, httpd.Refuse(http.StatusConflict, "key_conflict", "this idempotency key was used for something else", "use another key for another delivery")
	}
	return c, err
}

// Find returns a call of a conversation. The error is ErrUnknown for every other id.
func (s *Store) Find(ctx context.Context, who tokens.Identity, id string) (Call, error) {
	return scan(s.find.QueryRowContext(ctx, id, who.Folder, who.Thread), ErrUnknown)
}

// scan reads a call, and more columns. The error is none if the row is missing.
func scan(row *sql.Row, none error, more ...any) (c Call, _ error) {
	var made int64
	err := row.Scan(append([]any{&c.ID, &made, &c.Cancelled}, more...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return Call{}, none
	}
	if err != nil {
		return Call{}, fmt.Errorf("find a call: %w", store.Words(err))
	}
	c.Made = time.UnixMicro(made)
	return c, nil
}

// Lock locks a delivery until unlock is called. Calls about other deliveries, and about ids of
// another conversation, do not wait.
func (s *Store) Lock(who tokens.Identity, id string) (unlock func()) {
	return s.locks.take(who.Folder + "\x00" + who.Thread + "\x00" + id)
}

// Cancel records that a call will never be sent.
func (s *Store) Cancel(ctx context.Context, id string) error {
	if _, err := s.db.ExecContext(ctx, `UPDATE call SET withdrawn = 1 WHERE id = ?`, id); err != nil {
		return fmt.Errorf("cancel a call: %w", store.Words(err))
	}
	return nil
}

// Delete deletes a group's call of which nothing was submitted.
func (s *Store) Delete(ctx context.Context, folder, id string) error {
	if _, err := s.db.ExecContext(ctx, `DELETE FROM call WHERE id = ?`, id); err != nil {
		return fmt.Errorf("delete a call: %w", store.Words(err))
	}
	s.counts.add(folder, -1)
	return nil
}

// DeleteBefore deletes the calls that were made before then.
func (s *Store) DeleteBefore(ctx context.Context, then time.Time) error {
	if _, err := s.db.ExecContext(ctx, `DELETE FROM call WHERE made < ?`, then.UnixMicro()); err != nil {
		return store.Words(err)
	}
	return s.counts.read(ctx, s.db)
}

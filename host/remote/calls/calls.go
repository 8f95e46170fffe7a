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
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/host/state"
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

var (
	// ErrUnknown is the answer to an id of no delivery.
	ErrUnknown = httpd.Refuse(http.StatusNotFound, ipc.CodeUnknown, "no delivery of this conversation has this id", "use the id that the call returned; results are kept for a week")
	errTooMany = httpd.Refuse(http.StatusTooManyRequests, "busy", "this group has made too many calls in the last days", "call less often; a repeated call with its key is still known")
)

// Store records calls in the state. Its methods may be called from several goroutines.
type Store struct {
	state *state.DB
	most  int // of one group: one that calls without end, and is refused, must not fill the disk
	locks locks
}

// New returns the calls in a state, with at most most of each group.
func New(db *state.DB, most int) *Store { return &Store{state: db, most: most} }

// Record records a call, or returns the one that its conversation has made before under the
// same key. The error is a *httpd.Problem if that had another content, or if the group has made
// too many.
func (s *Store) Record(ctx context.Context, who tokens.Identity, key string, content []byte) (c Call, err error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Call{}, fmt.Errorf("make an id: %w", err)
	}
	var refused error // which is no error of the transaction: it would undo the changes of others
	err = s.state.Do(ctx, func(t *state.Tx) (err error) {
		c, refused, err = s.record(t, id.String(), who, key, content)
		return err
	}, nil)
	if err != nil {
		return Call{}, fmt.Errorf("record a call: %w", store.Words(err))
	}
	return c, refused
}

func (s *Store) record(t *state.Tx, id string, who tokens.Identity, key string, content []byte) (c Call, refused, err error) {
	if key != "" {
		var before []byte
		c, err := scan(t.QueryRow(`SELECT id, made, cancelled, content FROM remote_call WHERE folder = ? AND thread = ? AND key = ? AND key <> ''`, who.Folder, who.Thread, key), &before)
		if err == nil && !bytes.Equal(before, content) {
			refused = httpd.Refuse(http.StatusConflict, "key_conflict", "this idempotency key was used for something else", "use another key for another delivery")
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return c, refused, err
		}
	}
	var count int
	if err := t.QueryRow(`SELECT calls FROM remote_count WHERE folder = ?`, who.Folder).Scan(&count); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return c, nil, err
	}
	if count >= s.most {
		return c, errTooMany, nil
	}
	c = Call{ID: id, Made: time.Now().Truncate(time.Microsecond), New: true} // it becomes the time of a file
	if err := t.Exec(`INSERT INTO remote_call (id, folder, thread, key, content, made) VALUES (?, ?, ?, ?, ?, ?)`, id, who.Folder, who.Thread, key, content, c.Made.UnixNano()); err != nil {
		return c, nil, err
	}
	return c, nil, recount(t, who.Folder, 1)
}

// recount adds to the number of a group's calls.
func recount(t *state.Tx, folder string, more int) error {
	err := t.Exec(`INSERT INTO remote_count (folder, calls) VALUES (?, ?) ON CONFLICT (folder) DO UPDATE SET calls = remote_count.calls + excluded.calls`, folder, more)
	return err
}

// Find returns a call of a conversation. The error is ErrUnknown for every other id.
func (s *Store) Find(ctx context.Context, who tokens.Identity, id string) (Call, error) {
	c, err := scan(s.state.QueryRowContext(ctx, `SELECT id, made, cancelled FROM remote_call WHERE id = ? AND folder = ? AND thread = ?`, id, who.Folder, who.Thread))
	if errors.Is(err, sql.ErrNoRows) {
		return Call{}, ErrUnknown
	}
	if err != nil {
		return Call{}, fmt.Errorf("find a call: %w", store.Words(err))
	}
	return c, nil
}

// scan reads a call, and more columns.
func scan(row interface{ Scan(...any) error }, more ...any) (c Call, err error) {
	var made int64
	err = row.Scan(append([]any{&c.ID, &made, &c.Cancelled}, more...)...)
	c.Made = time.Unix(0, made)
	return c, err
}

// Lock locks a delivery until unlock is called. Calls about other deliveries, and about ids of
// another conversation, do not wait.
func (s *Store) Lock(who tokens.Identity, id string) (unlock func()) {
	return s.locks.take(who.Folder + "\x00" + who.Thread + "\x00" + id)
}

// Cancel records that a call will never be sent.
func (s *Store) Cancel(ctx context.Context, id string) error {
	if _, err := s.state.Exec(ctx, `UPDATE remote_call SET cancelled = 1 WHERE id = ?`, id); err != nil {
		return fmt.Errorf("cancel a call: %w", store.Words(err))
	}
	return nil
}

// Delete deletes a group's call of which nothing was submitted.
func (s *Store) Delete(ctx context.Context, folder, id string) error {
	err := s.state.Do(ctx, func(t *state.Tx) error {
		n, err := t.Changed(`DELETE FROM remote_call WHERE id = ? AND folder = ?`, id, folder)
		if err != nil || n == 0 {
			return err
		}
		return recount(t, folder, -1)
	}, nil)
	if err != nil {
		return fmt.Errorf("delete a call: %w", store.Words(err))
	}
	return nil
}

// DeleteBefore deletes the calls that were made before then, some at a time: others may write
// in between.
func (s *Store) DeleteBefore(ctx context.Context, then time.Time) error {
	for more := true; more; {
		err := s.state.Do(ctx, func(t *state.Tx) error {
			gone, err := deleteSome(t, then)
			for folder, n := range gone {
				err = errors.Join(err, recount(t, folder, -n))
			}
			more = len(gone) > 0
			return err
		}, nil)
		if err != nil {
			return fmt.Errorf("delete old calls: %w", store.Words(err))
		}
	}
	return nil
}

// deleteSome deletes some old calls, and returns how many of each group.
func deleteSome(t *state.Tx, then time.Time) (map[string]int, error) {
	rows, err := t.Query(`DELETE FROM remote_call WHERE id IN (SELECT id FROM remote_call WHERE made < ? LIMIT 500) RETURNING folder`, then.UnixNano())
	folders, err := state.All(rows, err, state.One[string])
	gone := map[string]int{}
	for _, folder := range folders {
		gone[folder]++
	}
	return gone, err
}

// locks serialize the calls about one delivery. The zero locks has none.
type locks struct {
	mu sync.Mutex
	of map[string]*lock // by conversation and delivery
}

type lock struct {
	mu    sync.Mutex
	users int // that have it or wait for it; guarded by locks.mu
}

// take locks a name until unlock is called.
func (l *locks) take(name string) (unlock func()) {
	l.mu.Lock()
	if l.of == nil {
		l.of = map[string]*lock{}
	}
	one := l.of[name]
	if one == nil {
		one = &lock{}
		l.of[name] = one
	}
	one.users++
	l.mu.Unlock()
	one.mu.Lock()
	return func() {
		one.mu.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(l.of, name)
		}
	}
}

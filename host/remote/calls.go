package remote

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
	"github.com/longshore-bridge/longshore/host/store"
)

// call is a call that was let in, as it is kept.
type call struct {
	id        string // of the delivery
	made      time.Time
	withdrawn bool
	fresh     bool // kept by this call: nobody has submitted it before
}

// keyFor is how long a key is remembered at least.
const keyFor = 24 * time.Hour

// asks are the statements of every call, compiled once. They are closed with the store.
type asks struct {
	whose, enter, find *sql.Stmt
}

func prepare(ctx context.Context, db *store.DB) (a asks, err error) {
	for query, to := range map[string]**sql.Stmt{
		`SELECT hash, folder, thread, peer FROM token WHERE id = ? AND ended = 0`:                                    &a.whose,
		`INSERT INTO call (id, folder, thread, key, content, made) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`: &a.enter,
		`SELECT id, made, withdrawn FROM call WHERE id = ? AND folder = ? AND thread = ?`:                            &a.find,
	} {
		if *to, err = db.PrepareContext(ctx, query); err != nil {
			return asks{}, fmt.Errorf("prepare the door's store: %w", store.Words(err))
		}
	}
	return a, nil
}

// enter keeps a call, or returns the one that its conversation has made before under the
// same key. The error is a *httpd.Problem if that had another content.
func (d *Server) enter(ctx context.Context, who source, key string, content []byte) (call, error) {
	u, err := uuid.NewV7()
	if err != nil {
		return call{}, fmt.Errorf("make an id: %w", err)
	}
	if d.kept.full(who.folder) {
		return d.repeated(ctx, who, key, content)
	}
	fresh := call{id: u.String(), made: time.UnixMicro(time.Now().UnixMicro()), fresh: true}
	done, err := d.asks.enter.ExecContext(ctx,
		fresh.id, who.folder, who.thread, sql.NullString{String: key, Valid: key != ""}, content, fresh.made.UnixMicro())
	if err != nil {
		return call{}, fmt.Errorf("keep a call: %w", store.Words(err))
	}
	if n, err := done.RowsAffected(); err != nil || n == 1 {
		d.kept.add(who.folder, 1)
		return fresh, err
	}
	return d.repeated(ctx, who, key, content)
}

// repeated returns the call that its conversation has made before under a key. The error is
// errCalls if there is none, as the group may have no other.
func (d *Server) repeated(ctx context.Context, who source, key string, content []byte) (call, error) {
	var before []byte
	old, err := scanCall(d.db.QueryRowContext(ctx, `SELECT id, made, withdrawn, content FROM call WHERE folder = ? AND thread = ? AND key = ?`,
		who.folder, who.thread, key), &before)
	if errors.Is(err, sql.ErrNoRows) {
		return call{}, errCalls
	}
	if err != nil {
		return call{}, fmt.Errorf("find a call: %w", store.Words(err))
	}
	if !bytes.Equal(before, content) {
		return call{}, httpd.Refuse(http.StatusConflict, "key_conflict", "this idempotency key was used for something else", "use another key for another delivery")
	}
	return old, nil
}

// find returns a call of a conversation. The error is errUnknown for every other id.
func (d *Server) find(ctx context.Context, who source, id string) (call, error) {
	c, err := scanCall(d.asks.find.QueryRowContext(ctx, id, who.folder, who.thread))
	if errors.Is(err, sql.ErrNoRows) {
		return call{}, errUnknown
	}
	if err != nil {
		return call{}, fmt.Errorf("find a call: %w", store.Words(err))
	}
	return c, nil
}

// withdrawn says whether a call of a conversation was withdrawn.
func (d *Server) withdrawn(ctx context.Context, who source, id string) (bool, error) {
	c, err := d.find(ctx, who, id)
	return c.withdrawn, err
}

func scanCall(row *sql.Row, more ...any) (c call, err error) {
	var made int64
	err = row.Scan(append([]any{&c.id, &made, &c.withdrawn}, more...)...)
	c.made = time.UnixMicro(made)
	return c, err
}

// markWithdrawn notes that a call will never be sent.
func (d *Server) markWithdrawn(ctx context.Context, id string) error {
	if _, err := d.db.ExecContext(ctx, `UPDATE call SET withdrawn = 1 WHERE id = ?`, id); err != nil {
		return fmt.Errorf("note a withdrawal: %w", store.Words(err))
	}
	return nil
}

// forget forgets calls whose results are gone too, and tokens that ended long ago.
func (d *Server) forget(ctx context.Context) error {
	before := time.Now().Add(-max(keyFor, d.Keep())).UnixMicro()
	if _, err := d.db.ExecContext(ctx, `DELETE FROM call WHERE made < ?`, before); err != nil {
		return store.Words(err)
	}
	_, err := d.db.ExecContext(ctx, `DELETE FROM token WHERE ended > 0 AND ended < ?`, before)
	return errors.Join(store.Words(err), d.kept.count(ctx, d.db))
}

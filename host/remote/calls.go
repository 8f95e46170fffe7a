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
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/host/store"
)

// call is a call that was let in, as it is kept.
type call struct {
	id        string // of the delivery
	made      time.Time
	cancelled bool
	fresh     bool // kept by this call: nobody has submitted it before
}

// keyFor is how long a key is remembered at least.
const keyFor = 24 * time.Hour

const schema = tokens.Schema + `
CREATE TABLE call (
	id TEXT PRIMARY KEY, folder TEXT NOT NULL, thread TEXT NOT NULL, key TEXT, content BLOB NOT NULL,
	made INTEGER NOT NULL, withdrawn INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX call_key ON call (folder, thread, key) WHERE key IS NOT NULL;
CREATE INDEX call_made ON call (made);`

// Store describes the store in dir of tokens and calls.
func Store(dir string, home store.Home) store.Spec {
	return store.Spec{
		Name: "remote", Dir: dir, File: "remote.db", Lock: "lock", Home: home, Schema: schema,
		Pragmas: []string{"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)"}, TxLock: "immediate",
	}
}

// statements are those of every call, compiled once. They are closed with the store.
type statements struct {
	enter, find *sql.Stmt
}

func prepare(ctx context.Context, db *store.DB) (a statements, err error) {
	for query, to := range map[string]**sql.Stmt{
		`INSERT INTO call (id, folder, thread, key, content, made) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`: &a.enter,
		`SELECT id, made, withdrawn FROM call WHERE id = ? AND folder = ? AND thread = ?`:                            &a.find,
	} {
		if *to, err = db.PrepareContext(ctx, query); err != nil {
			return statements{}, fmt.Errorf("prepare the store of calls: %w", store.Words(err))
		}
	}
	return a, nil
}

// enter keeps a call, or returns the one that its conversation has made before under the
// same key. The error is a *httpd.Problem if that had another content.
func (d *Server) enter(ctx context.Context, who tokens.Identity, key string, content []byte) (call, error) {
	u, err := uuid.NewV7()
	if err != nil {
		return call{}, fmt.Errorf("make an id: %w", err)
	}
	if d.kept.full(who.Folder) {
		return d.repeated(ctx, who, key, content)
	}
	fresh := call{id: u.String(), made: time.UnixMicro(time.Now().UnixMicro()), fresh: true}
	done, err := d.statements.enter.ExecContext(ctx,
		fresh.id, who.Folder, who.Thread, sql.NullString{String: key, Valid: key != ""}, content, fresh.made.UnixMicro())
	if err != nil {
		return call{}, fmt.Errorf("keep a call: %w", store.Words(err))
	}
	if n, err := done.RowsAffected(); err != nil || n == 1 {
		d.kept.add(who.Folder, 1)
		return fresh, err
	}
	return d.repeated(ctx, who, key, content)
}

// repeated returns the call that its conversation has made before under a key. The error is
// errCalls if there is none, as the group may have no other.
func (d *Server) repeated(ctx context.Context, who tokens.Identity, key string, content []byte) (call, error) {
	var before []byte
	old, err := scanCall(d.db.QueryRowContext(ctx, `SELECT id, made, withdrawn, content FROM call WHERE folder = ? AND thread = ? AND key = ?`,
		who.Folder, who.Thread, key), &before)
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
func (d *Server) find(ctx context.Context, who tokens.Identity, id string) (call, error) {
	c, err := scanCall(d.statements.find.QueryRowContext(ctx, id, who.Folder, who.Thread))
	if errors.Is(err, sql.ErrNoRows) {
		return call{}, errUnknown
	}
	if err != nil {
		return call{}, fmt.Errorf("find a call: %w", store.Words(err))
	}
	return c, nil
}

// cancelled says whether a call of a conversation was cancelled.
func (d *Server) cancelled(ctx context.Context, who tokens.Identity, id string) (bool, error) {
	c, err := d.find(ctx, who, id)
	return c.cancelled, err
}

func scanCall(row *sql.Row, more ...any) (c call, err error) {
	var made int64
	err = row.Scan(append([]any{&c.id, &made, &c.cancelled}, more...)...)
	c.made = time.UnixMicro(made)
	return c, err
}

// markCancelled notes that a call will never be sent.
func (d *Server) markCancelled(ctx context.Context, id string) error {
	if _, err := d.db.ExecContext(ctx, `UPDATE call SET withdrawn = 1 WHERE id = ?`, id); err != nil {
		return fmt.Errorf("note a withdrawal: %w", store.Words(err))
	}
	return nil
}

// deleteCalls deletes calls whose results are deleted too.
func (d *Server) deleteCalls(ctx context.Context, before time.Time) error {
	if _, err := d.db.ExecContext(ctx, `DELETE FROM call WHERE made < ?`, before.UnixMicro()); err != nil {
		return store.Words(err)
	}
	return d.kept.count(ctx, d.db)
}

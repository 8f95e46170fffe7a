package remote

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

const schema = `
CREATE TABLE token (
	id TEXT PRIMARY KEY, hash BLOB NOT NULL, folder TEXT NOT NULL, thread TEXT NOT NULL, peer TEXT NOT NULL,
	made INTEGER NOT NULL, ended INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE call (
	id TEXT PRIMARY KEY, folder TEXT NOT NULL, thread TEXT NOT NULL, key TEXT, content BLOB NOT NULL,
	made INTEGER NOT NULL, withdrawn INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX call_key ON call (folder, thread, key) WHERE key IS NOT NULL;
CREATE INDEX call_made ON call (made);`

// Store describes the door's store in dir.
func Store(dir string, home store.Home) store.Spec {
	return store.Spec{
		Name: "door", Dir: dir, File: "door.db", Lock: "lock", Home: home, Schema: schema,
		Pragmas: []string{"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)"}, TxLock: "immediate",
	}
}

// Token is what the host keeps of a token. The token itself is shown once.
type Token struct {
	ID     string    `json:"id"`
	Folder string    `json:"group"`
	Thread string    `json:"thread,omitempty"` // empty: the chat itself
	Peer   string    `json:"from,omitempty"`   // the only address that may use it; empty: any
	Made   time.Time `json:"made"`
}

// NewToken is a token that was just made.
type NewToken struct {
	Token
	Secret string `json:"token"` // what the assistant sends
}

// ErrNoToken is returned for an id that no token has that counts. It is permanent.
var ErrNoToken error = &refusal.Error{Code: "not_found", Message: "no token that counts has this id", Hint: "see: longshore tokens list"}

const (
	tokenPrefix = "lsh_"
	idBytes     = 8
	secretBytes = 32
)

// Make makes a token for a conversation of a group: a thread of its chat, or the chat
// itself. The error is a refusal if there is no such group or peer is no address.
func (d *Server) Make(ctx context.Context, folder, thread, peer string) (NewToken, error) {
	if _, ok := d.Groups().ByFolder(folder); !ok {
		return NewToken{}, &refusal.Error{Code: "not_found", Message: fmt.Sprintf("there is no group %q", folder), Hint: "see: longshore groups list"}
	}
	if peer != "" {
		at, err := netip.ParseAddr(peer)
		if err != nil {
			return NewToken{}, &refusal.Error{Code: "wrong_value", Message: fmt.Sprintf("%q is no address", peer), Hint: "give an IP address, such as 192.0.2.7"}
		}
		peer = at.Unmap().String()
	}
	raw := make([]byte, idBytes+secretBytes)
	rand.Read(raw)
	t := NewToken{Token: Token{ID: hex.EncodeToString(raw[:idBytes]), Folder: folder, Thread: thread, Peer: peer, Made: time.Now()}}
	secret := base64.RawURLEncoding.EncodeToString(raw[idBytes:])
	t.Secret = tokenPrefix + t.ID + "_" + secret
	hash := sha256.Sum256([]byte(secret))
	_, err := d.db.ExecContext(ctx, `INSERT INTO token (id, hash, folder, thread, peer, made) VALUES (?, ?, ?, ?, ?, ?)`,
		t.ID, hash[:], folder, thread, peer, t.Made.UnixMicro())
	if err != nil {
		return NewToken{}, fmt.Errorf("keep a token: %w", store.Words(err))
	}
	d.Log.Info("token made", "token", t.ID, "group", folder, "thread", thread)
	return t, nil
}

// List returns the tokens that count, the oldest first.
func (d *Server) List(ctx context.Context) (all []Token, err error) {
	rows, err := d.db.QueryContext(ctx, `SELECT id, folder, thread, peer, made FROM token WHERE ended = 0 ORDER BY made, id`)
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", store.Words(err))
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	all = []Token{}
	for rows.Next() {
		var t Token
		var made int64
		if err := rows.Scan(&t.ID, &t.Folder, &t.Thread, &t.Peer, &made); err != nil {
			return nil, fmt.Errorf("list tokens: %w", err)
		}
		t.Made = time.UnixMicro(made).UTC()
		all = append(all, t)
	}
	return all, rows.Err()
}

// Revoke ends a token: its calls end, its next call is refused, and deliveries that were
// accepted go on.
// The error is ErrNoToken if none has the id.
func (d *Server) Revoke(ctx context.Context, id string) error {
	done, err := d.db.ExecContext(ctx, `UPDATE token SET ended = ? WHERE id = ? AND ended = 0`, time.Now().UnixMicro(), id)
	if err != nil {
		return fmt.Errorf("end a token: %w", store.Words(err))
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return errors.Join(ErrNoToken, err)
	}
	d.callers.end(id)
	d.Log.Info("token revoked", "token", id)
	return nil
}

// source is whom a token stands for.
type source struct {
	folder string
	thread string
	token  string // its id
}

// tokenID is the id of a token that a request bears.
func tokenID(bearer string) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(bearer, tokenPrefix), "_")
	return id
}

// whose returns whom a token stands for that a request from peer bears. ok is false if the
// token does not count, for whatever reason. It takes the same steps for each reason.
func (d *Server) whose(ctx context.Context, bearer, peer string) (_ source, ok bool, _ error) {
	id := tokenID(bearer)
	_, secret, _ := strings.Cut(strings.TrimPrefix(bearer, tokenPrefix), "_")
	given := sha256.Sum256([]byte(secret))
	if v := d.visits.find(id); v.counts(ctx, given) {
		_, known := d.Groups().ByFolder(v.folder)
		return v.source, known, nil
	}
	s := source{token: id}
	var hash []byte
	var from string
	err := d.asks.whose.QueryRowContext(ctx, id).Scan(&hash, &s.folder, &s.thread, &from)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return source{}, false, fmt.Errorf("look a token up: %w", store.Words(err))
	}
	if err != nil {
		hash = make([]byte, len(given))
	}
	same := subtle.ConstantTimeCompare(hash, given[:]) == 1
	_, known := d.Groups().ByFolder(s.folder)
	visited := ctx.Value(visitKey{}) != nil // where only the session's own token counts
	if !same || !known || visited || from != "" && from != peer {
		return source{}, false, nil
	}
	return s, true, nil
}

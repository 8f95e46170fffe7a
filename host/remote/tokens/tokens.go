// Package tokens says which conversation of which group a caller speaks for, by the token that
// it shows.
package tokens

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

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

// ErrUnknown is the error of Revoke for an id of no valid token.
var ErrUnknown error = &refusal.Error{Code: "not_found", Message: "no token that counts has this id", Hint: "see: longshore tokens list"}

// ErrUnauthorized is the answer to a call without a valid token.
var ErrUnauthorized = httpd.Refuse(http.StatusUnauthorized, "no_token", "this needs a token that counts", "send it as Authorization: Bearer …; the operator makes one with: longshore tokens new")

// Tokens are the tokens of a host: those in its state, and those of the sessions that it has
// started itself, which only its memory has.
type Tokens struct {
	state    *state.DB
	find     *sql.Stmt // closed with the state
	registry Registry
	log      *slog.Logger
	callers  callers
	sessions sessions
}

// Registry knows the groups that there are now.
type Registry interface{ Registry() *groups.Registry }

// New returns the tokens in a state.
func New(ctx context.Context, db *state.DB, r Registry, log *slog.Logger) (*Tokens, error) {
	find, err := db.PrepareContext(ctx, `SELECT hash, folder, thread, peer FROM remote_token WHERE id = ? AND ended = 0`)
	if err != nil {
		return nil, fmt.Errorf("prepare the tokens: %w", store.Words(err))
	}
	return &Tokens{state: db, find: find, registry: r, log: log}, nil
}

func (t *Tokens) known(folder string) bool {
	_, ok := t.registry.Registry().ByFolder(folder)
	return ok
}

const (
	tokenPrefix = "lsh_"
	idBytes     = 8
	secretBytes = 32
)

// Make makes a token for a conversation of a group: a thread of its chat, or the chat
// itself. The error is a refusal if there is no such group or peer is no address.
func (t *Tokens) Make(ctx context.Context, folder, thread, peer string) (NewToken, error) {
	if !t.known(folder) {
		return NewToken{}, &refusal.Error{Code: "not_found", Message: fmt.Sprintf("there is no group %q", folder), Hint: "see: longshore groups list"}
	}
	if peer != "" {
		at, err := netip.ParseAddr(peer)
		if err != nil {
			return NewToken{}, &refusal.Error{Code: "wrong_value", Message: fmt.Sprintf("%q is no address", peer), Hint: "give an IP address, such as 192.0.2.7"}
		}
		peer = at.Unmap().String()
	}
	id, secret, hash := generate()
	made := NewToken{Token{id, folder, thread, peer, time.Now()}, tokenPrefix + id + "_" + secret}
	_, err := t.state.Exec(ctx, `INSERT INTO remote_token (id, hash, folder, thread, peer, made) VALUES (?, ?, ?, ?, ?, ?)`,
		id, hash[:], folder, thread, peer, made.Made.UnixNano())
	if err != nil {
		return NewToken{}, fmt.Errorf("keep a token: %w", store.Words(err))
	}
	t.log.Info("token made", "token", id, "group", folder, "thread", thread)
	return made, nil
}

// generate makes a token's id, its secret, and the hash of that.
func generate() (id, secret string, hash httpd.Digest) {
	raw := make([]byte, idBytes+secretBytes)
	rand.Read(raw)
	id, secret = hex.EncodeToString(raw[:idBytes]), base64.RawURLEncoding.EncodeToString(raw[idBytes:])
	return id, secret, httpd.DigestOf(secret)
}

// List returns the tokens that count, the oldest first.
func (t *Tokens) List(ctx context.Context) ([]Token, error) {
	rows, err := t.state.QueryContext(ctx, `SELECT id, folder, thread, peer, made FROM remote_token WHERE ended = 0 ORDER BY made, id`)
	all, err := state.All(rows, err, func(rows *sql.Rows) (one Token, err error) {
		var made int64
		err = rows.Scan(&one.ID, &one.Folder, &one.Thread, &one.Peer, &made)
		one.Made = time.Unix(0, made).UTC()
		return one, err
	})
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", store.Words(err))
	}
	return append([]Token{}, all...), nil // never null in JSON
}

// Revoke ends a token: its calls end, its next call is refused, and deliveries that were
// accepted go on.
// The error is ErrUnknown if none has the id.
func (t *Tokens) Revoke(ctx context.Context, id string) error {
	n, err := t.state.Exec(ctx, `UPDATE remote_token SET ended = ? WHERE id = ? AND ended = 0`, time.Now().UnixNano(), id)
	if err != nil {
		return fmt.Errorf("end a token: %w", store.Words(err))
	}
	if n == 0 {
		return ErrUnknown
	}
	t.callers.end(id)
	t.log.Info("token revoked", "token", id)
	return nil
}

// Forget deletes tokens that were revoked before then.
func (t *Tokens) Forget(ctx context.Context, before time.Time) error {
	_, err := t.state.Exec(ctx, `DELETE FROM remote_token WHERE ended > 0 AND ended < ?`, before.UnixNano())
	return store.Words(err)
}

// Identity is whom a token stands for.
type Identity struct {
	Folder string
	Thread string // empty: the chat itself
	Token  string // the token's id
}

// parse splits the token that a request bears, which may be anything.
func parse(bearer string) (id, secret string) {
	id, secret, _ = strings.Cut(strings.TrimPrefix(bearer, tokenPrefix), "_")
	return id, secret
}

// Authenticate returns whom the token of a request from peer stands for. ok is false if the
// token is not valid, for whatever reason: each takes the same steps.
func (t *Tokens) Authenticate(ctx context.Context, bearer, peer string) (_ Identity, ok bool, _ error) {
	id, secret := parse(bearer)
	given := httpd.DigestOf(secret)
	if s := t.sessions.find(id); s.matches(ctx, given) {
		return s.Identity, t.known(s.Folder), nil
	}
	who := Identity{Token: id}
	var hash []byte
	var from string
	err := t.find.QueryRowContext(ctx, id).Scan(&hash, &who.Folder, &who.Thread, &from)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Identity{}, false, fmt.Errorf("look a token up: %w", store.Words(err))
	}
	var kept httpd.Digest
	copy(kept[:], hash)
	same := kept.Is(given)
	known := t.known(who.Folder)
	forwarded := ctx.Value(sessionKey{}) != nil // only the session's own token counts there
	if !same || !known || forwarded || from != "" && from != peer {
		return Identity{}, false, nil
	}
	return who, true, nil
}

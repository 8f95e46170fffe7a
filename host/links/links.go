// Package links gives members files that are too large for their chats by an
// address, and serves them.
//
// The address of a link ends in a token: the link's id, when it expires, and
// an HMAC of both by the host's own key. So nobody can make one up, and a
// log that leaks a link's id gives no address away. The state has the key, which is made when
// the first link is; what the host keeps of a link is in the outbox.
//
// Whoever knows the address gets the file, once or often, until the link
// expires or is revoked.
package links

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
)

// Path is where a server of the host serves links: Path and a token.
const Path = "/links/"

const (
	keySize = 32
	macSize = 16

	idLen    = 32 // hex digits
	timeLen  = 16
	tokenLen = idLen + timeLen + 2*macSize
)

// Keys is the key of the host's links. Its methods may be called concurrently.
type Keys struct {
	state *state.DB

	mu  sync.Mutex
	key []byte // nil: not read yet
}

// NewKeys returns the Keys of a state.
func NewKeys(db *state.DB) *Keys { return &Keys{state: db} }

// Address returns the address of a link below url, which has no slash at its end.
func (k *Keys) Address(url, id string, expires time.Time) (string, error) {
	token, err := k.Token(id, expires)
	return url + Path + token, err
}

// Token returns the end of a link's address. The first call of all makes the key. id is 32
// lower-case hex digits; of expires, whole seconds count.
func (k *Keys) Token(id string, expires time.Time) (string, error) {
	key, err := k.read(true)
	if err != nil {
		return "", err
	}
	signed := id + hex.EncodeToString(binary.BigEndian.AppendUint64(nil, uint64(expires.Unix())))
	return signed + mac(key, signed), nil
}

// Parse returns what a token says, if this host has made it. It takes the same time for
// every token that has the form of one.
func (k *Keys) Parse(token string) (id string, expires time.Time, ok bool) {
	if len(token) != tokenLen || strings.Trim(token, "0123456789abcdef") != "" {
		return "", time.Time{}, false
	}
	key, err := k.read(false)
	if err != nil {
		return "", time.Time{}, false
	}
	signed, sum := token[:idLen+timeLen], token[idLen+timeLen:]
	if !httpd.Same(sum, mac(key, signed)) {
		return "", time.Time{}, false
	}
	at, err := hex.DecodeString(signed[idLen:])
	if err != nil {
		return "", time.Time{}, false
	}
	return signed[:idLen], time.Unix(int64(binary.BigEndian.Uint64(at)), 0), true
}

func mac(key []byte, signed string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("longshore link\x00" + signed))
	return hex.EncodeToString(h.Sum(nil)[:macSize])
}

// read returns the key. If there is none, make makes it; else the error is sql.ErrNoRows.
func (k *Keys) read(make bool) (key []byte, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key != nil {
		return k.key, nil
	}
	const query = `SELECT key FROM link_key`
	if err = k.state.QueryRow(query).Scan(&key); errors.Is(err, sql.ErrNoRows) && make {
		fresh := [keySize]byte{}
		rand.Read(fresh[:])
		err = k.state.Do(context.Background(), func(t *state.Tx) error {
			if err := t.Exec(`INSERT INTO link_key (id, key) VALUES (1, ?) ON CONFLICT DO NOTHING`, fresh[:]); err != nil {
				return err
			}
			return t.QueryRow(query).Scan(&key)
		}, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("key of the links: %w", store.Words(err))
	}
	k.key = key
	return key, nil
}

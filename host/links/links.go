// Package links gives members files that are too large for their chats by an
// address, and serves them.
//
// The address of a link ends in a token: the link's id, when it expires, and
// an HMAC of both by the host's own key. So nobody can make one up, and a
// database that leaks gives no address away. What the host keeps of a link is in
// the outbox.
//
//	outbox/links.key   32 random bytes in hex, 0600, made when the first link is
//
// Whoever knows the address gets the file, once or often, until the link
// expires or is revoked.
package links

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// Path is where a server of the host serves links: Path and a token.
const Path = "/links/"

const (
	keyFile = "links.key"
	keySize = 32
	macSize = 16

	idLen    = 32 // hex digits
	timeLen  = 16
	tokenLen = idLen + timeLen + 2*macSize
)

// Keys is the key of the host's links. Its methods may be called concurrently.
type Keys struct {
	dir string

	mu  sync.Mutex
	key []byte // nil: not read yet
}

// NewKeys returns the Keys whose file is in dir, which this process has for itself.
func NewKeys(dir string) *Keys { return &Keys{dir: dir} }

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
	if !hmac.Equal([]byte(mac(key, signed)), []byte(sum)) {
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

// read returns the key. If there is none, make makes it; else the error is fs.ErrNotExist.
func (k *Keys) read(make bool) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key != nil {
		return k.key, nil
	}
	name := filepath.Join(k.dir, keyFile)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && make {
		fresh := [keySize]byte{}
		rand.Read(fresh[:])
		text = []byte(hex.EncodeToString(fresh[:]))
		err = safefs.WriteFile(name, text, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("key of the links: %w", err)
	}
	key, err := hex.DecodeString(string(text))
	if err != nil || len(key) != keySize {
		return nil, fmt.Errorf("key of the links: %s is damaged: restore it, or delete it, which ends all links", name)
	}
	k.key = key
	return key, nil
}

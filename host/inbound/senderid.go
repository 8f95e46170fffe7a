package inbound

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/longshore-bridge/longshore/host/state"
)

const (
	secretSize   = 32 // bytes
	senderIDSize = 4  // bytes; two of 1,000 members have the same with a chance of 1 in 8,000
)

// SenderID is a stable pseudonym for a member: an HMAC of the platform's sender id under
// the group's key. The assistant recognizes a member by it after a change of name, and
// distinguishes members of the same name. It is stable as long as the state exists. The key
// is secret, because all phone numbers can be hashed, and each group has its own, so that
// two groups cannot find members that they share. It is empty for a sender that no platform
// vouches for.
func (s *Store) SenderID(sender string) string {
	if sender == "" {
		return ""
	}
	return hex.EncodeToString(mac(s.secret, sender)[:senderIDSize])
}

// Sign returns a mark of text that nobody can make without the group's secret.
func (s *Store) Sign(text string) string { return hex.EncodeToString(mac(s.secret, text)[:16]) }

// Secret reads the secret of this installation, which it makes at the first start.
func Secret(db *state.DB) (secret []byte, err error) {
	err = Each(db, func(scan func(to ...any) error) error { return scan(&secret) }, `SELECT secret FROM inbound_secret`)
	if err == nil && secret == nil {
		secret = make([]byte, secretSize)
		_, _ = rand.Read(secret) // never fails
		_, err = db.Exec(context.Background(), `INSERT INTO inbound_secret (id, secret) VALUES (1, ?)`, secret)
	}
	if err != nil {
		return nil, fmt.Errorf("read the secret of members' ids: %w", err)
	}
	return secret, nil
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

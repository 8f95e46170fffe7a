package turns

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

const (
	secretSize   = 32 // bytes
	senderIDSize = 4  // bytes; two of 1,000 members have the same with a chance of 1 in 8,000
)

// senderID is a stable pseudonym for a member: an HMAC of the platform's sender id under
// the group's key. The assistant recognizes a member by it after a change of name, and
// distinguishes members of the same name. It is stable as long as the state exists. The key
// is secret, because all phone numbers can be hashed, and each group has its own, so that
// two groups cannot find members that they share. It is empty for a sender that no platform
// vouches for.
func (s *store) senderID(sender string) string {
	if sender == "" {
		return ""
	}
	return hex.EncodeToString(mac(s.secret, sender)[:senderIDSize])
}

// keyOf is the key of one group, made of the installation's secret.
func keyOf(secret []byte, folder string) []byte { return mac(secret, folder) }

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

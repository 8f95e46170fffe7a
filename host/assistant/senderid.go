package assistant

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

const (
	senderKeyFile = "sender-key"
	senderKeySize = 32 // bytes
	senderIDSize  = 4  // bytes; two of 1,000 members have the same with a chance of 1 in 8,000
)

// senderID is a stable pseudonym for a member: an HMAC of the platform's sender id under
// the group's key. The assistant recognizes a member by it after a change of name, and
// distinguishes members of the same name. It is stable as long as the group's directory
// exists. The key is secret, because all phone numbers can be hashed, and each group has
// its own, so that two groups cannot find members that they share. It is empty for a
// sender that no platform vouches for.
func (s *store) senderID(sender string) string {
	if sender == "" {
		return ""
	}
	mac := hmac.New(sha256.New, s.senderKey)
	mac.Write([]byte(sender))
	return hex.EncodeToString(mac.Sum(nil)[:senderIDSize])
}

// loadSenderKey reads the group's key, or creates it.
func (s *store) loadSenderKey() error {
	key, err := os.ReadFile(s.path(senderKeyFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(key) != senderKeySize {
		key = make([]byte, senderKeySize)
		_, _ = rand.Read(key) // never fails
		if err := s.write(senderKeyFile, key); err != nil {
			return fmt.Errorf("keep the key of the senders' ids: %w", err)
		}
	}
	s.senderKey = key
	return nil
}

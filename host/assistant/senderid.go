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

// senderID is by what the assistant knows a member again who may change their
// name at any time, and tells two of the same name apart. It is the same as long
// as the group's directory lives. Its key is secret, since the few billion
// numbers there are can all be hashed, and each group's own, so that no two
// groups can find out whom they share. Empty for a sender nobody vouches for.
func (s *store) senderID(sender string) string {
	if sender == "" {
		return ""
	}
	mac := hmac.New(sha256.New, s.senderKey)
	mac.Write([]byte(sender))
	return hex.EncodeToString(mac.Sum(nil)[:senderIDSize])
}

// loadSenderKey reads the group's key, or makes it.
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

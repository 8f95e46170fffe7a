package whatsapp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"

	"go.mau.fi/whatsmeow"
)

// messageID is the id under which a message is known on WhatsApp: in the form
// that WhatsApp Web gives its own, and the same for every attempt.
func messageID(id string) string {
	sum := sha256.Sum256([]byte("longshore whatsapp message\x00" + id))
	return whatsmeow.WebMessageIDPrefix + strings.ToUpper(hex.EncodeToString(sum[:9]))
}

// keyedLock lets one caller at a time into each key.
type keyedLock struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when the holder leaves
}

// enter waits for its turn; the caller calls leave.
func (l *keyedLock) enter(ctx context.Context, key string) (leave func(), err error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		l.mu.Lock()
		busy, taken := l.held[key]
		if !taken {
			done := make(chan struct{})
			l.held[key] = done
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				delete(l.held, key)
				l.mu.Unlock()
				close(done)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

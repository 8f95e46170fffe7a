package compose

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"go.mau.fi/whatsmeow"
)

// MessageID derives a message's id on WhatsApp from channel.Message.ID, in the form
// that WhatsApp Web uses. It is the same at every attempt.
func MessageID(id string) string {
	sum := sha256.Sum256([]byte("longshore whatsapp message\x00" + id))
	return whatsmeow.WebMessageIDPrefix + strings.ToUpper(hex.EncodeToString(sum[:9]))
}

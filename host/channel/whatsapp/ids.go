package whatsapp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"go.mau.fi/whatsmeow"
)

// messageID is the id under which a message is known on WhatsApp: in the form
// that WhatsApp Web gives its own, and the same for every attempt.
func messageID(id string) string {
	sum := sha256.Sum256([]byte("longshore whatsapp message\x00" + id))
	return whatsmeow.WebMessageIDPrefix + strings.ToUpper(hex.EncodeToString(sum[:9]))
}

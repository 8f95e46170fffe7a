package whatsapp

import (
	"testing"

	"go.mau.fi/whatsmeow/proto/waE2E"
)

func TestTheSecretOfAMessageOutlivesItsUpload(t *testing.T) {
	first := secretOf(nil)
	old := &sentMessage{message: &waE2E.Message{MessageContextInfo: &waE2E.MessageContextInfo{MessageSecret: first}}}
	if again := secretOf(old); len(first) != 32 || string(again) != string(first) {
		t.Errorf("secret %x became %x", first, again)
	}
	if string(secretOf(nil)) == string(first) || len(secretOf(&sentMessage{message: &waE2E.Message{}})) != 32 {
		t.Error("two messages have one secret, or one has none")
	}
}

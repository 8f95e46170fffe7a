package whatsapp

import (
	"testing"

	"go.mau.fi/whatsmeow/proto/waE2E"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/messages"
)

func TestTheSecretOfAMessageOutlivesItsUpload(t *testing.T) {
	first := secretOf(nil)
	old := &messages.Sent{Message: &waE2E.Message{MessageContextInfo: &waE2E.MessageContextInfo{MessageSecret: first}}}
	if again := secretOf(old); len(first) != 32 || string(again) != string(first) {
		t.Errorf("secret %x became %x", first, again)
	}
	if string(secretOf(nil)) == string(first) || len(secretOf(&messages.Sent{Message: &waE2E.Message{}})) != 32 {
		t.Error("two messages have one secret, or one has none")
	}
}

package whatsapp

import (
	"errors"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/messages"
	"github.com/longshore-bridge/longshore/host/store"
)

// Whether a message was sent before cannot be read: it is not sent, and tried again.
func TestAStoreThatCannotBeReadSendsNothing(t *testing.T) {
	j, err := journal.Open(t.Context(), journal.Spec("whatsapp", "whatsapp", t.TempDir(), store.Home{}), journal.Options{})
	must(t, err)
	must(t, j.Close())
	_, err = (&session{messages: messages.Store{Journal: j}}).send(t.Context(), outgoing{id: "1"})
	var e *channel.Error
	if !errors.As(err, &e) || e.Class != channel.Passing || e.Code != "store_failed" {
		t.Errorf("%v", err)
	}
}

package whatsapp

import (
	"errors"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/messages"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// Whether a message was sent before cannot be read: it is not sent, and tried again.
func TestAStoreThatCannotBeReadSendsNothing(t *testing.T) {
	db := statetest.Open(t, t.TempDir())
	j, err := journal.Open(t.Context(), db, "whatsapp", "whatsapp", journal.Options{})
	must(t, err)
	_, err = db.Exec(t.Context(), `DROP TABLE journal_sent`)
	must(t, err)
	_, err = (&session{messages: messages.Store{Journal: j}}).send(t.Context(), outgoing{id: "1"})
	var e *channel.Error
	if !errors.As(err, &e) || e.Class != channel.Passing || e.Code != "store_failed" {
		t.Errorf("%v", err)
	}
}

package bot

import (
	"context"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// A time that the journal cannot hold stopped a channel: the platform repeated the message for ever, and
// what came after it was never taken.
func TestAMessageOfTheYear33658ComesInAsWords(t *testing.T) {
	ctx := context.Background()
	j, err := journal.Open(ctx, statetest.Open(t, t.TempDir()), "post", "post", journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	in := channel.Inbound{Chat: "post:desk", ID: "1", Sender: "ann", Text: "hello", Time: time.Unix(1_000_000_000_000, 0)}
	if err := (&Open{Journal: j}).Keep(ctx, in, nil); err != nil {
		t.Fatal(err)
	}
	m, err := j.Next(ctx, "post:desk")
	if err != nil || m == nil {
		t.Fatalf("%v, %v", m, err)
	}
	if _, err := Decode(*m, nil); err == nil {
		t.Fatal("it was read")
	}
	if got := Unreadable(*m, "Ann"); got.ID != "1" || got.Sender != "ann" || got.Text == "" || got.Time.Year() > 9999 {
		t.Errorf("%+v", got)
	}
}

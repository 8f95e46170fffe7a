package push

import (
	"log/slog"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/journal"
)

// A reply that another version of this program kept was tried again for a day, and then dropped.
func TestWhatAnotherVersionKeptComesInAsWords(t *testing.T) {
	p := &Push{Bot: bot.New(channel.Setup{Log: slog.New(slog.DiscardHandler)}, bot.Kind{}, 0)}
	var in channeltest.Arrivals
	if err := p.Give(t.Context(), &in, journal.Inbound{Chat: "push:desk", ID: "m-1", Body: []byte(`{"type":"message","hologram":1}`)}); err != nil {
		t.Fatal(err)
	}
	if got := in.Wait(t, 1)[0]; got.Told != "unreadable" || got.Text != channel.NotShown("unreadable") {
		t.Errorf("came in as %+v", got)
	}
}

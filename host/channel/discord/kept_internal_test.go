package discord

import (
	"log/slog"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/journal"
)

// What another version of this program kept was dropped, or lost the fields that are not known.
func TestWhatAnotherVersionKeptComesInAsWords(t *testing.T) {
	d, err := platform{account, Net{API: "http://127.0.0.1:1/"}}.newOf(channel.Setup{Name: "discord", Settings: &Settings{}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var in channeltest.Arrivals
	for i, body := range []string{`{"own":{"channel":"1"},"Sender":"3","Text":"a"}`, `{"version":2,"Text":"a"}`, `{"version":1,"Text":"a","hologram":1}`, `{"version":1,"Text":"a","own":{"hologram":1}}`, `[]`} {
		if err := d.Give(t.Context(), &in, journal.Inbound{Chat: "dc:1", ID: "5", Sender: "3", Body: []byte(body), Event: i == 4}); err != nil {
			t.Fatal(err)
		}
		got := in.Wait(t, i+1)[i]
		if got.Told != "unreadable" || got.Text != channel.NotShown("unreadable") || got.Sender != "3" || got.ID != "5" || got.Kind.IsMessage() == (i == 4) {
			t.Errorf("%s came in as %+v", body, got)
		}
	}
}

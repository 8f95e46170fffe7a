package slack

import (
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/slack/decode"
)

// What another version of this program kept was dropped.
func TestWhatAnotherVersionKeptComesInAsWords(t *testing.T) {
	s := offline(t, Net{API: "http://127.0.0.1:1/"}, &Settings{})
	var in channeltest.Arrivals
	for i, body := range []string{`{"type":"hologram"}`, `{"type":["message"]}`} {
		if err := s.Give(t.Context(), &in, journal.Inbound{Chat: decode.ChatOf(desk), ID: "1700000000.000001", Sender: ada, Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
		if got := in.Wait(t, i+1)[i]; got.Told != "unreadable" || got.Text != channel.NotShown("unreadable") || got.From != "Ada" {
			t.Errorf("%s came in as %+v", body, got)
		}
	}
}

package telegram

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/journal"
)

// What another version of this program kept was dropped.
func TestWhatAnotherVersionKeptComesInAsWords(t *testing.T) {
	tg := &Telegram{Bot: bot.New(channel.Setup{Log: slog.New(slog.DiscardHandler)}, account, 0)}
	var in channeltest.Arrivals
	if err := tg.Give(t.Context(), &in, journal.Inbound{Chat: "tg:-1001", ID: "7", Sender: "77", Body: []byte(`{"message":[]}`)}); err != nil {
		t.Fatal(err)
	}
	if got := in.Wait(t, 1)[0]; got.Told != "unreadable" || got.Text != channel.NotShown("unreadable") || got.Sender != "77" {
		t.Errorf("came in as %+v", got)
	}
}

// An edit of more than 256 KiB was passed over.
func TestAnEditThatIsTooLargeIsKeptAsWords(t *testing.T) {
	raw := []byte(`{"update_id":9,"edited_message":{"message_id":5,"edit_date":7,"chat":{"id":-1001},"from":{"id":77,"first_name":"Ada"},"text":"` + strings.Repeat("a", maxUpdate) + `"}}`)
	_, in, err := decode(bare(raw, true), nil)
	if err != nil || in.Kind != channel.KindEdit || in.Target != "5" || in.Text != channel.NotShown("too large") || in.Time.Unix() != 7 {
		t.Errorf("came in as %+v, %v", in, err)
	}
}

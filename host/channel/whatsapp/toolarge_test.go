package whatsapp

import (
	"strings"
	"testing"

	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/host/channel"
)

// A message of 16 MiB, which is what a frame may have, was kept whole for a week.
func TestAMessageThatIsTooLargeIsKeptAsWords(t *testing.T) {
	s := fuzzSession(t)
	for id, size := range map[string]int{"LARGE": 2 << 20, "LONG": 1 << 19} {
		info := fuzzInfo(true, "Anna")
		e := &events.Message{Message: words(strings.Repeat("a", size))}
		e.Info.Chat, e.Info.Sender, e.Info.SenderAlt, e.Info.IsGroup, e.Info.ID, e.Info.PushName = info.Chat, info.Sender, info.Alt, true, id, "Anna"
		m := s.newInbound(&e.Info)
		m.Chat, m.Message = fuzzGroup, e.Message
		if !s.record(m) {
			t.Fatal("it is not kept")
		}
		kept, err := s.messages.FindInbound(t.Context(), fuzzGroup, id)
		if err != nil || kept == nil {
			t.Fatal(kept, err)
		}
		in := s.inbound(t.Context(), kept)
		if large := size > 1<<20; large != (in.Told == "too_large") || large != (in.Text == channel.NotShown("a message that is too large")) || large != (len(kept.Body) == 0) || in.From != "Anna" {
			t.Errorf("%s: %d bytes are kept, and come in as %q, %.60s of %q", id, len(kept.Body), in.Told, in.Text, in.From)
		}
	}
}

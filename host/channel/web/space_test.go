package web_test

import (
	"errors"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// TestOneChatsFilesDoNotTakeTheDiskOfAll has an assistant send without end.
// What it sends is kept for ever, so there must be an end.
func TestOneChatsFilesDoNotTakeTheDiskOfAll(t *testing.T) {
	opts := options(t.TempDir())
	opts.Quota = 2500
	opts.Chats = append(opts.Chats, channel.NamedChat{JID: "web:other"})
	send := func(s *site, chat groups.JID) error {
		f := outgoing("noise.bin", "application/octet-stream", media.Document, make([]byte, 1000))
		_, err := s.Send(t.Context(), channel.Message{ID: newID(), Chat: chat, Files: f})
		return err
	}
	refused := func(err error) {
		t.Helper()
		var e *channel.Error
		if !errors.As(err, &e) || e.Code != "chat_full" || e.Class != channel.Permanent {
			t.Errorf("over the quota: %v", err)
		}
	}
	s := start(t, opts)
	for range 2 {
		if err := send(s, "web:family"); err != nil {
			t.Fatal(err)
		}
	}
	refused(send(s, "web:family"))
	if err := send(s, "web:other"); err != nil {
		t.Errorf("another chat: %v", err)
	}
	s.stop()
	s = start(t, opts) // what was there before counts
	refused(send(s, "web:family"))
	if err := send(s, "web:other"); err != nil {
		t.Errorf("another chat after a restart: %v", err)
	}
}

func TestAnAssistantsFileWaitsForADiskThatIsAlmostFull(t *testing.T) {
	opts := options(t.TempDir())
	opts.KeepFree = 1 << 60
	s := start(t, opts)
	f := outgoing("a.bin", "application/octet-stream", media.Document, []byte("x"))
	_, err := s.Send(t.Context(), channel.Message{ID: newID(), Chat: "web:family", Files: f})
	var e *channel.Error
	if !errors.As(err, &e) || e.Code != "disk_full" || e.Class != channel.Passing {
		t.Errorf("got %v", err)
	}
}

// TestARepeatOfASmallFileWasRefusedInAFullChat: it counted twice, so a delivery whose record was lost
// in a crash failed although the page has it.
func TestARepeatOfASmallFileWasRefusedInAFullChat(t *testing.T) {
	opts := options(t.TempDir())
	opts.Quota = 1500
	s := start(t, opts)
	m := channel.Message{ID: newID(), Files: outgoing("a.bin", "application/octet-stream", media.Document, make([]byte, 1000))}
	if first, again := s.send(m), s.send(m); first != again || len(s.history("")) != 1 {
		t.Errorf("%+v and %+v", first, again)
	}
}

package whatsapp_test

import (
	"errors"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
)

func made(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What the host does not know any more cannot be edited, and nobody is said to have
// written it; a sticker has no text.
func TestAChangeOfWhatTheHostDoesNotKnowIsPermanent(t *testing.T) {
	w := newWorld(t).run()
	w.connected()
	ours := w.send(text(family, "ours"))
	for name, err := range map[string]error{
		"edit":           w.ch.Edit(soon(t), channel.Change{ID: newID(), Chat: family, Target: "3EB0UNKNOWN", Text: "x"}),
		"edit elsewhere": w.ch.Edit(soon(t), channel.Change{ID: newID(), Chat: byNumber, Target: ours.ID, Text: "x"}),
		"react":          w.ch.React(soon(t), channel.Change{ID: newID(), Chat: family, Target: "3EB0UNKNOWN", Emoji: "x"}),
		"no chat":        w.ch.Unsend(soon(t), channel.Change{ID: newID(), Chat: "web:family", Target: ours.ID}),
	} {
		var e *channel.Error
		if !errors.As(err, &e) || e.Class != channel.Permanent {
			t.Errorf("%s: %v", name, err)
		}
	}
}

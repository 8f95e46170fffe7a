package whatsapp_test

import (
	"errors"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
	"github.com/longshore-bridge/longshore/media"
)

func made(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestBaileysSeesWhatIsEditedReactedToAndUnsent(t *testing.T) {
	w, clara := withBaileys(t)
	type seen struct{ event, id, text string }
	await := func(want seen) {
		t.Helper()
		_, err := clara.Await(soon(t), func(e whatsapptest.BaileysEvent) bool {
			return e.Event == want.event && e.ID == want.id && e.Text == want.text
		})
		if err != nil {
			t.Errorf("Clara does not see %+v: %v", want, err)
		}
	}
	n := 0
	for _, chat := range []groups.JID{byNumber, byLID, directly} {
		to := string(chat)
		if chat == directly {
			to = w.bot.JID().String()
		}
		said, err := clara.Send(soon(t), whatsapptest.BaileysFile{Chat: to, Kind: "text", Text: "How far are you?"})
		if err != nil {
			t.Fatal(err)
		}
		n++
		w.received(n)
		progress := w.send(text(chat, "10 %"))
		answer := w.send(channel.Message{ID: newID(), Chat: chat, Text: "half", ReplyTo: said})
		photo := file(chat, media.Info{Name: "a.jpg", Kind: media.Image, MIME: "image/jpeg"}, jpegOf(t, 40, 30))
		photo.Text = "before"
		picture := w.send(photo)
		for _, id := range []string{progress.ID, answer.ID, picture.ID} {
			if _, err := clara.Message(soon(t), id); err != nil {
				t.Fatal(err)
			}
		}
		c := channel.Change{ID: newID(), Chat: chat, Target: progress.ID, Text: "100 %"}
		for range 2 { // the second time it is the same message
			made(t, w.ch.Edit(soon(t), c))
		}
		await(seen{"edited", progress.ID, "100 %"})
		made(t, w.ch.Edit(soon(t), channel.Change{ID: newID(), Chat: chat, Target: answer.ID, Text: "whole"}))
		await(seen{"edited", answer.ID, "whole"})
		made(t, w.ch.Edit(soon(t), channel.Change{ID: newID(), Chat: chat, Target: picture.ID, Files: true, Text: "after"}))
		await(seen{"edited", picture.ID, "after"})
		made(t, w.ch.React(soon(t), channel.Change{ID: newID(), Chat: chat, Target: said, Emoji: "👀"}))
		await(seen{"reacted", said, "👀"})
		made(t, w.ch.React(soon(t), channel.Change{ID: newID(), Chat: chat, Target: said}))
		await(seen{"reacted", said, ""})
		made(t, w.ch.React(soon(t), channel.Change{ID: newID(), Chat: chat, Target: picture.ID, Emoji: "👍"}))
		await(seen{"reacted", picture.ID, "👍"})
		made(t, w.ch.Unsend(soon(t), channel.Change{ID: newID(), Chat: chat, Target: answer.ID}))
		await(seen{"deleted", answer.ID, ""})
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

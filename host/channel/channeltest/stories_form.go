package channeltest

import (
	"context"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/ladder"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/media"
)

// Descend sends m as a host does: in the next lower form each time that the platform refuses
// one. The receipt is that of the first message, with all notes.
func Descend(ctx context.Context, c channel.Channel, m channel.Message) (channel.Receipt, error) {
	r, err := c.Send(ctx, m)
	if err == nil {
		return r, nil
	}
	ms, note, ok := ladder.Down(m, err, c.Limits())
	if !ok {
		return r, err
	}
	for i, lower := range ms {
		one, err := Descend(ctx, c, lower)
		if err != nil {
			return r, err
		}
		if i == 0 {
			r = one
			if r.Note != "" {
				note += "; " + r.Note
			}
			r.Note = note
		}
	}
	return r, nil
}

// ofKind is a message of one file of a kind.
func ofKind(h Harness, kind media.Kind, data []byte) channel.Message {
	name := map[media.Kind]string{media.Image: "a.png", media.Video: "a.mp4", media.Audio: "a.mp3", media.Voice: "a.ogg", media.Sticker: "a.webp"}[kind]
	m := memory.File(newID(), h.Chat, name, data)
	m.Files[0].Kind = kind
	return m
}

// formRefused has the platform refuse each form in its own words: the error says which, nothing
// is shown, and what the ladder puts in its place arrives.
func formRefused(t testing.TB, h Harness) {
	j := join(t, h)
	l := j.Limits()
	n, refused := 0, 0
	descends := func(what string, form channel.Form, m channel.Message, want int) {
		if !h.Refuse(t, form, m) {
			return
		}
		refused++
		_, err := j.Send(j.ctx, m)
		if channel.FormOf(err) != form || channel.ClassOf(err) != channel.Permanent {
			t.Errorf("%s: %v refuses %q, want %q", what, err, channel.FormOf(err), form)
			return
		}
		if got := h.Received(t, h.Chat, n); len(got) != n {
			t.Errorf("%s: refused, and members see %v", what, got[n:])
		}
		ms, note, ok := ladder.Down(m, err, l)
		if !ok || note == "" || len(ms) != want {
			t.Errorf("%s: %d messages take its place, want %d; note %q", what, len(ms), want, note)
			return
		}
		for _, lower := range ms {
			r := j.send(lower)
			if n++; !seenOnce(h.Received(t, h.Chat, n), r.ID) {
				t.Errorf("%s: members do not see %s once", what, r.ID)
			}
		}
	}
	for _, kind := range media.Kinds() {
		if limit := l.Kinds[kind]; limit.Bytes > 0 && kind != media.Document {
			descends(string(kind), channel.FormKind, ofKind(h, kind, noise(300+n)), 1)
		}
	}
	if l.Files > 1 && l.Kinds[media.Document].Album != "" {
		descends("album", channel.FormAlbum, memory.Files(newID(), h.Chat, "a.bin", "b.bin"), 2)
	}
	answer := memory.Text(newID(), h.Chat, "an answer")
	answer.ReplyTo = j.send(memory.Text(newID(), h.Chat, "a question")).ID
	n++
	descends("answer", channel.FormReply, answer, 1)
	if l.Threads {
		m := memory.Text(newID(), h.Chat, "in a thread")
		m.Thread = h.Thread(t, h.Chat)
		descends("thread", channel.FormThread, m, 1)
	}
	if refused == 0 {
		t.Error("the platform refuses no form: leave Refuse out")
	}
}

func seenOnce(all []Seen, id string) bool {
	n := 0
	for _, s := range all {
		if s.ID == id {
			n++
		}
	}
	return n == 1
}

// contentRefused has the platform refuse what stands in a message: there is no lower form.
func contentRefused(t testing.TB, h Harness) {
	j := join(t, h)
	m := ofKind(h, media.Image, noise(100))
	if !h.Refuse(t, "", m) {
		t.Fatal("every platform refuses contents")
	}
	_, err := j.Send(j.ctx, m)
	if channel.ClassOf(err) != channel.Permanent {
		t.Errorf("%v, want a permanent error", err)
	}
	if _, _, ok := ladder.Down(m, err, j.Limits()); ok {
		t.Errorf("%v: what is refused is sent in another form", err)
	}
	end := j.send(memory.Text(newID(), h.Chat, "end"))
	want(t, h.Received(t, h.Chat, 1), Seen{ID: end.ID, Text: "end"})
}

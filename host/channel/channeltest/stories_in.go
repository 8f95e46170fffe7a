package channeltest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/media"
)

func memberWrites(t testing.TB, h Harness) {
	j := join(t, h)
	texts := []string{"Grüße & <b>good</b> morning\nsecond line 🚢", "and more"}
	for i, text := range texts {
		h.Say(t, h.Chat, Said{From: "Ada", Text: text})
		j.received(i + 1) // one by one: members wait for each other too
	}
	h.Say(t, h.Other, Said{From: "Grace", Text: "elsewhere"})
	got := j.received(3)
	ids := map[string]bool{}
	for i, m := range got {
		wantText, chat := "elsewhere", h.Other
		if i < len(texts) {
			wantText, chat = texts[i], h.Chat
		}
		if m.Text != wantText || m.Chat != chat || m.From == "" || m.ID == "" || m.Time.IsZero() || len(m.Files) != 0 {
			t.Errorf("message %d came in as %+v, want %q in %s", i, m.Inbound, wantText, chat)
		}
		ids[m.ID] = true
	}
	if len(got) != 3 || len(ids) != 3 {
		t.Errorf("%d messages with %d ids came in, want 3", len(got), len(ids))
	}
}

func memberAttaches(t testing.TB, h Harness) {
	j := join(t, h)
	data := noise(300_000)
	h.Say(t, h.Chat, Said{From: "Ada", Text: "look", File: &SaidFile{Name: "photo of us.bin", MIME: "application/octet-stream", Data: data}})
	m := j.received(1)[0]
	if len(m.Files) != 1 || !bytes.Equal(m.bodies[0], data) {
		t.Fatalf("%d files came in, or other bytes than were sent", len(m.Files))
	}
	f := m.Files[0]
	if f.Name != media.SafeName(f.Name) || f.Name != "photo of us.bin" || f.Size != int64(len(data)) || f.MIME == "" || f.Kind != media.Document {
		t.Errorf("the file came in as %+v", f.Info)
	}
	if m.Text != "look" {
		t.Errorf("its text came in as %q", m.Text)
	}
}

func deviceReports(t testing.TB, h Harness) {
	j := join(t, h)
	r := j.send(memory.Text(newID(), h.Chat, "hello"))
	h.Received(t, h.Chat, 1)
	for _, state := range []channel.State{channel.StateDelivered, channel.StateRead} {
		h.Mark(t, h.Chat, r.ID, state)
		want := fmt.Sprintf("%s %s %s", h.Chat, r.ID, state)
		j.wait("report "+want, func(in *inbox) bool { return slices.Contains(in.reports, want) })
	}
}

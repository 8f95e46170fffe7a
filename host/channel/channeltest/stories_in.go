package channeltest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

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
		if m.Text != wantText || m.Chat != chat || m.From == "" || m.ID == "" || m.Time.IsZero() || len(m.Files) != 0 || m.Kind != channel.KindMessage {
			t.Errorf("message %d came in as %+v, want %q in %s", i, m, wantText, chat)
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
	if body, err := j.fetch(m); err != nil || !bytes.Equal(body, data) {
		t.Fatalf("%d bytes were fetched, or others than were sent: %v", len(body), err)
	}
	f := m.Files[0]
	if f.Name != media.SafeName(f.Name) || f.Name != "photo of us.bin" || f.Size != int64(len(data)) || f.MIME == "" || f.Kind != media.Document {
		t.Errorf("the file came in as %+v", f.Info)
	}
	if m.Text != "look" {
		t.Errorf("its text came in as %q", m.Text)
	}
}

// acts are examples of what a member does; target is a message of the channel.
func acts(target string) []channel.Inbound {
	place := channel.Location{Latitude: 48.137154, Longitude: 11.576124, Name: "Marienplatz"}
	return []channel.Inbound{
		{Kind: channel.KindEdit, Target: target, Text: "better words"},
		{Kind: channel.KindDeletion, Target: target},
		{Kind: channel.KindReaction, Target: target, Emoji: "👍🏽"},
		{Kind: channel.KindReaction, Target: target},
		{Kind: channel.KindVote, Target: target, Choices: []string{"Monday", "Tuesday"}},
		{Kind: channel.KindLocation, Location: &place, Text: place.String()},
		{Kind: channel.KindMembership, Joined: []channel.Person{{Name: "Bo", Sender: "bo"}}},
		{Kind: channel.KindMembership, Left: []channel.Person{{Name: "Bo", Sender: "bo"}}},
	}
}

func memberActs(t testing.TB, h Harness) {
	j := join(t, h)
	// The members' own message is what they edit and delete.
	h.Say(t, h.Chat, Said{From: "Ada", Text: "words"})
	target := j.received(1)[0].ID
	n := 1
	for _, want := range acts(target) {
		if !slices.Contains(h.Acts, want.Kind) {
			continue
		}
		h.Act(t, h.Chat, want)
		n++
		got := j.received(n)[n-1]
		if got.ID == "" || got.ID == target || got.Time.IsZero() || got.Chat != h.Chat || got.Kind != channel.KindMembership && (got.From == "" || got.Sender == "") {
			t.Errorf("%s came in as %+v", want.Kind, got)
		}
		got.ID, got.Time, got.Chat, got.From, got.Sender, got.Also, got.Role = "", want.Time, "", "", "", "", ""
		for _, p := range [][]channel.Person{got.Joined, got.Left} {
			for i := range p {
				if p[i].Name == "" || p[i].Sender == "" {
					t.Errorf("%s of %+v", want.Kind, p[i])
				}
				p[i] = channel.Person{Name: "Bo", Sender: "bo"}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.Kind, diff)
		}
	}
	h.Say(t, h.Chat, Said{From: "Ada", Text: "end"})
	if got := j.received(n + 1); len(got) != n+1 || got[n].Text != "end" {
		t.Errorf("%d came in after %d and a message, the last as %+v", len(got), n, got[len(got)-1])
	}
}

func onceOverRestart(t testing.TB, h Harness) {
	j := join(t, h)
	h.Say(t, h.Chat, Said{From: "Ada", Text: "before"})
	j.received(1)
	j = j.restarted()
	h.Say(t, h.Chat, Said{From: "Ada", Text: "after"})
	if got := j.received(1); got[0].Text != "after" {
		t.Errorf("after a restart came in again %+v", got[0])
	}
}

func notKept(t testing.TB, h Harness) {
	j := join(t, h)
	j.in.refuses.Store(true)
	h.Say(t, h.Chat, Said{From: "Ada", Text: "first"})
	j.wait("a message that is not kept", func(in *inbox) bool { return in.refused > 0 })
	j = j.restarted()
	h.Say(t, h.Chat, Said{From: "Ada", Text: "second"})
	if first := j.received(1)[0]; first.Text != "first" {
		t.Fatalf("first came in %+v", first)
	}
	if got := j.received(2); len(got) != 2 || got[1].Text != "second" {
		t.Errorf("came in: %+v", got)
	}
}

func fetchedLater(t testing.TB, h Harness) {
	j, data := join(t, h), noise(70_000)
	h.Say(t, h.Chat, Said{From: "Ada", File: &SaidFile{Name: "a.bin", MIME: "application/octet-stream", Data: data}})
	m := j.received(1)[0]
	j = j.restarted()
	for range 2 { // an attempt of which the host knows no end is made again
		if body, err := j.fetch(m); err != nil || !bytes.Equal(body, data) {
			t.Errorf("%d bytes were fetched, or others than were sent: %v", len(body), err)
		}
	}
	m.Chat = h.Other
	if body, err := j.fetch(m); channel.ClassOf(err) != channel.Permanent {
		t.Errorf("in another chat: %d bytes, %v; want a permanent error", len(body), err)
	}
}

func expired(t testing.TB, h Harness) {
	j := join(t, h)
	h.Say(t, h.Chat, Said{From: "Ada", File: &SaidFile{Name: "a.bin", MIME: "application/octet-stream", Data: noise(70_000)}})
	m := j.received(1)[0]
	h.Expire(t)
	if body, err := j.fetch(m); channel.ClassOf(err) != channel.Permanent {
		t.Errorf("%d bytes, %v; want a permanent error", len(body), err)
	}
}

// madeAlone makes a channel and nothing else.
func madeAlone(t testing.TB, h Harness) {
	before := append([]goleak.Option{goleak.IgnoreCurrent(), goleak.IgnoreAnyFunction("database/sql.(*DB).connectionOpener"), goleak.IgnoreAnyFunction("database/sql.(*DB).connectionCleaner")}, h.Leaks...) // of the state, which is the harness's
	c := h.New(t)
	if h.Untouched != nil {
		h.Untouched(t)
	}
	if err := goleak.Find(before...); err != nil {
		t.Errorf("after New: %v", err)
	}
	if _, err := c.Send(t.Context(), memory.Text(newID(), h.Chat, "x")); err == nil || channel.ClassOf(err) == channel.Permanent {
		t.Errorf("Send before Run: %v; want an error that passes", err)
	}
}

func runsOnce(t testing.TB, h Harness) {
	j := join(t, h)
	if err := j.Run(j.ctx, j.in); err == nil {
		t.Error("Run while it runs: no error")
	}
	j.stop()
	if err := j.Run(t.Context(), j.in); err == nil {
		t.Error("Run after Run: no error")
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

package channeltest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/media"
)

// Each of these stories is of a channel.MultiSender, and of no other channel.

// together sends messages at once and wants so many outcomes.
func (j *joined) together(ctx context.Context, want int, ms ...channel.Message) []channel.Outcome {
	j.t.Helper()
	outs := j.Channel.(channel.MultiSender).SendAll(ctx, ms)
	if len(outs) != want {
		j.t.Fatalf("SendAll of %d messages has %d outcomes, want %d: %v", len(ms), len(outs), want, outs)
	}
	for i, out := range outs {
		if out.Err == nil && (out.Receipt.ID == "" || out.Receipt.Time.IsZero()) {
			j.t.Errorf("receipt %d %+v has no id or no time", i, out.Receipt)
		}
		if out.Last() && i < len(outs)-1 {
			j.t.Errorf("SendAll went on after outcome %d: %+v", i, out)
		}
	}
	return outs
}

func (j *joined) sendsMany() bool {
	_, many := j.Channel.(channel.MultiSender)
	if many && j.Repeat().Keyed != channel.Forever {
		j.t.Errorf("a MultiSender knows ids for ever, not %+v", j.Repeat())
	}
	return many
}

func togetherInOrder(t testing.TB, h Harness) {
	j := join(t, h)
	if !j.sendsMany() {
		return
	}
	var ms []channel.Message
	for i := range 20 {
		ms = append(ms, memory.Text(newID(), h.Chat, fmt.Sprint("message ", i)))
	}
	ms[7] = memory.File(newID(), h.Chat, "seven.bin", noise(3000))
	first := j.together(j.ctx, 5, ms[:5]...)
	again := j.together(j.ctx, 20, ms...) // some of them are there
	j.together(j.ctx, 20, ms...)          // and now all
	question := memory.Text(newID(), h.Chat, "which one?")
	r := j.send(question)
	answer := memory.Text(newID(), h.Chat, "this one")
	answer.ReplyTo = r.ID
	last := j.together(j.ctx, 2, question, answer)
	var seen []Seen
	for i, m := range ms {
		if s := (Seen{ID: again[i].Receipt.ID, Text: m.Text}); len(m.Files) == 0 {
			seen = append(seen, s)
		} else {
			seen = append(seen, Seen{ID: s.ID, File: seenAs(m)})
		}
		if i < len(first) {
			j.same(first[i].Receipt, again[i].Receipt)
		}
	}
	seen = append(seen, Seen{ID: r.ID, Text: question.Text}, Seen{ID: last[1].Receipt.ID, Text: answer.Text, ReplyTo: r.ID})
	j.same(r, last[0].Receipt)
	want(t, h.Received(t, h.Chat, len(seen)), seen...)
}

func togetherRefused(t testing.TB, h Harness) {
	j := join(t, h)
	if !j.sendsMany() {
		return
	}
	large := memory.File(newID(), h.Chat, "large.bin", nil)
	large.Files[0].Size = j.Limits().Kinds[media.Document].Bytes + 1
	outs := j.together(j.ctx, 3, memory.Text(newID(), h.Chat, "before"), large, memory.Text(newID(), h.Chat, "after"))
	if err := outs[1].Err; channel.ClassOf(err) != channel.Permanent || outs[0].Err != nil || outs[2].Err != nil {
		t.Errorf("one of three is too large: %+v", outs)
	}
	unknown := j.together(j.ctx, 1, memory.Text(newID(), h.Unknown, "hello"))
	if err := unknown[0].Err; err == nil || channel.ClassOf(err) != channel.Permanent {
		t.Errorf("SendAll to an unknown chat: %v, want a permanent error", err)
	}
	want(t, h.Received(t, h.Chat, 2), Seen{ID: outs[0].Receipt.ID, Text: "before"}, Seen{ID: outs[2].Receipt.ID, Text: "after"})
}

func togetherBroken(t testing.TB, h Harness) {
	j := join(t, h)
	if !j.sendsMany() {
		return
	}
	ms := []channel.Message{
		memory.Text(newID(), h.Chat, "before"), memory.File(newID(), h.Chat, "late.bin", noise(4000)), memory.Text(newID(), h.Chat, "after"),
	}
	good, open := ms[1].Files[0].Content, atomic.Int64{}
	ms[1].Files[0].Content = counted(noise(4000), &open, func(int64) error { return errors.New("the disk broke") })
	first := j.together(j.ctx, 2, ms...)
	if err := first[1].Err; first[0].Err != nil || err == nil || channel.ClassOf(err) == channel.Permanent {
		t.Errorf("the second cannot be read: %+v", first)
	}
	ms[1].Files[0].Content = good
	rest := j.together(j.ctx, 2, ms[1:]...)
	want(t, h.Received(t, h.Chat, 3), Seen{ID: first[0].Receipt.ID, Text: "before"},
		Seen{ID: rest[0].Receipt.ID, File: seenAs(ms[1])}, Seen{ID: rest[1].Receipt.ID, Text: "after"})
}

func togetherCancelled(t testing.TB, h Harness) {
	j := join(t, h)
	if !j.sendsMany() {
		return
	}
	done, cancel := context.WithCancel(j.ctx)
	cancel()
	out := j.together(done, 1, memory.Text(newID(), h.Chat, "never"), memory.Text(newID(), h.Chat, "nor this"))
	if err := out[0].Err; err == nil || channel.ClassOf(err) == channel.Permanent {
		t.Errorf("SendAll under a cancelled context: %v", err)
	}
	end := j.send(memory.Text(newID(), h.Chat, "end"))
	want(t, h.Received(t, h.Chat, 1), Seen{ID: end.ID, Text: "end"})
}

package channeltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/media"
)

func unknownChat(t testing.TB, h Harness) {
	j := join(t, h)
	for _, m := range []channel.Message{memory.Text(newID(), h.Unknown, "hello"), memory.File(newID(), h.Unknown, "a.bin", noise(100))} {
		_, err := j.Send(j.ctx, m)
		if err == nil || channel.ClassOf(err) != channel.Permanent {
			t.Errorf("Send to an unknown chat: %v, want a permanent error", err)
			continue
		}
		var e *channel.Error
		if errors.As(err, &e) && (e.Code == "" || e.Message == "") {
			t.Errorf("refused without a code or without words: %+v", e)
		}
	}
	end := j.send(memory.Text(newID(), h.Chat, "end"))
	want(t, h.Received(t, h.Chat, 1), Seen{ID: end.ID, Text: "end"})
}

func unreadableFile(t testing.TB, h Harness) {
	j := join(t, h)
	data := noise(400_000)
	m := memory.File(newID(), h.Chat, "late.bin", data)
	good := m.Files[0].Content
	var open atomic.Int64
	m.Files[0].Content = counted(data, &open, func(off int64) error {
		if off >= 200_000 {
			return errors.New("the disk broke")
		}
		return nil
	})
	if _, err := j.Send(j.ctx, m); err == nil || channel.ClassOf(err) == channel.Permanent {
		t.Errorf("Send of a file that breaks off: %v, want an error that is not permanent", err)
	}
	if n := open.Load(); n != 0 {
		t.Errorf("%d readers of the file are still open after Send", n)
	}
	m.Files[0].Content = good
	r := j.again(m)
	want(t, h.Received(t, h.Chat, 1), Seen{ID: r.ID, File: seenAs(m)})
}

// cancelled sends with a context that is done already, and with one that ends
// while the file is read.
func cancelled(t testing.TB, h Harness) {
	j := join(t, h)
	done, cancel := context.WithCancel(j.ctx)
	cancel()
	j.mustEnd(done, memory.Text(newID(), h.Chat, "never"))

	half, cancel := context.WithCancel(j.ctx)
	defer cancel()
	data := noise(4 << 20)
	m := memory.File(newID(), h.Chat, "never.bin", data)
	var open atomic.Int64
	m.Files[0].Content = counted(data, &open, func(off int64) error {
		if off >= 1<<20 {
			cancel()
		}
		return nil
	})
	j.mustEnd(half, m)

	end := j.send(memory.Text(newID(), h.Chat, "end"))
	want(t, h.Received(t, h.Chat, 1), Seen{ID: end.ID, Text: "end"})
}

func stalled(t testing.TB, h Harness) {
	j := join(t, h)
	reached := h.Stall(t)
	ctx, cancel := context.WithCancel(j.ctx)
	defer cancel()
	go func() {
		select {
		case <-reached:
			cancel()
		case <-ctx.Done():
		}
	}()
	j.mustEnd(ctx, memory.Text(newID(), h.Chat, "unanswered"))
}

// fourSlow leaves as many sends of one chat without an answer as the host makes at
// once, and then sends to another chat.
func fourSlow(t testing.TB, h Harness) {
	j := join(t, h)
	ctx, cancel := context.WithCancel(j.ctx)
	var slow sync.WaitGroup
	for i := range 4 {
		reached := h.Stall(t)
		slow.Go(func() { _, _ = j.Send(ctx, memory.Text(newID(), h.Chat, fmt.Sprint("unanswered ", i))) })
		select {
		case <-reached:
		case <-j.ctx.Done():
			t.Fatalf("send %d did not reach the platform within %v", i, patience)
		}
	}
	r := j.send(memory.Text(newID(), h.Other, "quick"))
	want(t, h.Received(t, h.Other, 1), Seen{ID: r.ID, Text: "quick"})
	cancel()
	slow.Wait()
}

// limitsHold sends what the host would have split, grouped or refused.
func limitsHold(t testing.TB, h Harness) {
	j := join(t, h)
	l := j.Limits()
	over := []channel.Message{memory.Files(newID(), h.Chat, slices.Repeat([]string{"a.bin"}, max(1, l.Files)+1)...)}
	if l.Text <= 1<<16 {
		over = append(over, memory.Text(newID(), h.Chat, strings.Repeat("x", l.Text+1)))
	}
	large := memory.File(newID(), h.Chat, "large.bin", nil)
	large.Files[0].Size = l.Kinds[media.Document].Bytes + 1
	for _, m := range append(over, large) {
		if _, err := j.Send(j.ctx, m); channel.ClassOf(err) != channel.Permanent {
			t.Errorf("%d files, %d characters: %v, want a permanent error", len(m.Files), len(m.Text), err)
		}
	}
	end := j.send(memory.Text(newID(), h.Chat, "end"))
	want(t, h.Received(t, h.Chat, 1), Seen{ID: end.ID, Text: "end"})
}

// mustEnd sends and wants an error soon, whatever its class.
func (j *joined) mustEnd(ctx context.Context, m channel.Message) {
	j.t.Helper()
	result := make(chan error, 1)
	go func() {
		_, err := j.Send(ctx, m)
		result <- err
	}()
	select {
	case err := <-result:
		if err == nil {
			j.t.Error("Send under a cancelled context went well")
		} else if channel.ClassOf(err) == channel.Permanent {
			j.t.Errorf("Send under a cancelled context failed for good: %v", err)
		}
	case <-j.ctx.Done():
		j.t.Fatalf("Send did not return within %v of being cancelled", patience)
	}
}

// afterTheEnd allows a channel that needs no connection to send, if members
// then see it; else the error has to pass.
func afterTheEnd(t testing.TB, h Harness) {
	j := join(t, h)
	j.stop()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := j.Send(ctx, memory.Text(newID(), h.Chat, "late"))
	switch {
	case ctx.Err() != nil:
		t.Errorf("Send after Run took longer than %v", patience)
	case err == nil:
		want(t, h.Received(t, h.Chat, 1), Seen{ID: r.ID, Text: "late"})
	case !slices.Contains([]channel.Class{channel.Passing, channel.Held}, channel.ClassOf(err)):
		t.Errorf("Send after Run: %v is %v, want passing or held", err, channel.ClassOf(err))
	}
}

func worksAfterRestart(t testing.TB, h Harness) {
	j := join(t, h)
	first := j.send(memory.Text(newID(), h.Chat, "before"))
	j = j.restarted()
	second := j.send(memory.Text(newID(), h.Chat, "after"))
	want(t, h.Received(t, h.Chat, 2), Seen{ID: first.ID, Text: "before"}, Seen{ID: second.ID, Text: "after"})
	h.Say(t, h.Chat, Said{From: "Ada", Text: "welcome back"})
	if got := j.received(1)[0]; got.Text != "welcome back" {
		t.Errorf("received %q", got.Text)
	}
}

package channeltest

import (
	"sync"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
)

// Each story sends a last message of its own: in a chat that keeps its order a
// second copy would stand before it. A blind channel promises none of them: its
// caller never sends again what may have been shown.

func sameIDShowsOnce(t testing.TB, h Harness) {
	j := join(t, h)
	if Blind(j.Channel) {
		return
	}
	text := memory.Text(newID(), h.Chat, "once")
	file := memory.File(newID(), h.Chat, "once.bin", noise(5000))
	if f, ok := j.Channel.(channel.Finder); ok {
		if r, err := f.Find(j.ctx, text); r != nil || err != nil {
			t.Errorf("Find before Send: %v, %v; want neither", r, err)
		}
	}
	first, firstFile := j.send(text), j.send(file)
	for range 3 {
		j.same(first, j.again(text))
		j.same(firstFile, j.again(file))
	}
	end := j.send(memory.Text(newID(), h.Chat, "end"))
	want(t, h.Received(t, h.Chat, 3),
		Seen{ID: first.ID, Text: "once"}, Seen{ID: firstFile.ID, File: seenAs(file)}, Seen{ID: end.ID, Text: "end"})
}

func sameIDAtOnce(t testing.TB, h Harness) {
	j := join(t, h)
	if Blind(j.Channel) {
		return
	}
	if _, ok := j.Channel.(channel.Finder); ok {
		return // promises it only to a caller who looks first
	}
	file := memory.File(newID(), h.Chat, "once.bin", noise(200_000))
	var wg sync.WaitGroup
	receipts := make([]channel.Receipt, 8)
	for i := range receipts {
		wg.Go(func() {
			r, err := j.Send(j.ctx, file)
			if err != nil {
				t.Errorf("Send: %v", err)
			}
			receipts[i] = r
		})
	}
	wg.Wait()
	if _, steps := j.saved.Load(file.ID); steps {
		return // attempts that hand on what they save follow each other
	}
	for _, r := range receipts[1:] {
		j.same(receipts[0], r)
	}
	end := j.send(memory.Text(newID(), h.Chat, "end"))
	want(t, h.Received(t, h.Chat, 2), Seen{ID: receipts[0].ID, File: seenAs(file)}, Seen{ID: end.ID, Text: "end"})
}

func sameIDAfterRestart(t testing.TB, h Harness) {
	j := join(t, h)
	if Blind(j.Channel) {
		return
	}
	text := memory.Text(newID(), h.Chat, "once")
	file := memory.File(newID(), h.Chat, "once.bin", noise(5000))
	first, firstFile := j.send(text), j.send(file)
	j = j.restarted()
	j.same(first, j.again(text))
	j.same(firstFile, j.again(file))
	end := j.send(memory.Text(newID(), h.Chat, "end"))
	want(t, h.Received(t, h.Chat, 3),
		Seen{ID: first.ID, Text: "once"}, Seen{ID: firstFile.ID, File: seenAs(file)}, Seen{ID: end.ID, Text: "end"})
}

func (j *joined) same(first, again channel.Receipt) {
	j.t.Helper()
	if first.ID != again.ID {
		j.t.Errorf("the same message has the receipts %q and %q", first.ID, again.ID)
	}
}

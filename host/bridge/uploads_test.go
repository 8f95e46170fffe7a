package bridge_test

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/ipc"
)

// hanging is a place that does not take files until it is freed.
type hanging struct {
	blob.Place

	held chan struct{} // gets a value for each file that hangs
	free chan struct{}
}

func (h *hanging) Put(ctx context.Context, name string, from *os.File, size int64) error {
	if name != blob.Marker {
		select {
		case h.held <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-h.free:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return h.Place.Put(ctx, name, from, size)
}

// Four groups whose files hung on their way to the place of files held all other groups up.
func TestFourSlowUploadsHeldAllGroupsUp(t *testing.T) {
	place := &hanging{Place: blob.NewDirectory(t.TempDir()), held: make(chan struct{}), free: make(chan struct{})}
	db, err := state.OpenAt(context.WithoutCancel(t.Context()), statetest.Spec(t.TempDir()), place, slog.New(slog.DiscardHandler))
	check(t, err)
	t.Cleanup(func() { check(t, db.Close()) })
	s := newSite(t, func(o *outbox.Options) { o.State = db })
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { check(t, s.outbox.Run(ctx)) })
	running.Go(func() { check(t, s.spool.Run(ctx)) })
	running.Go(func() { bridge.New(s.opts).Run(ctx, &s.turns) })
	defer running.Wait()
	defer stop()
	large := strings.Repeat("x", blob.Small+1)
	for i, folder := range []string{"family", "work", "club", "team"} {
		s.enqueue(folder, "0001", file(s.write(folder, "large.bin", large)), time.Unix(int64(i), 0))
		<-place.held
	}
	s.enqueue("ops", "0001", ipc.Request{Type: ipc.TypeMessage, Text: "at once"}, time.Unix(9, 0))
	if _, err := s.memory.WaitShown(ctx, groups.JID("mem:ops"), 1); err != nil {
		t.Fatal(err)
	}
	close(place.free)
	for _, chat := range []groups.JID{"mem:family", "mem:work", "mem:club", "mem:team"} {
		if _, err := s.memory.WaitShown(ctx, chat, 1); err != nil {
			t.Fatal(err)
		}
	}
}

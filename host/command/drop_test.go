package command

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/ipc"
)

// TestADropOfWhatWaitedWasMissingInTheTrail until the next start: the trail had the end of the
// delivery, and not that the operator had said no.
func TestADropOfWhatWaitedWasMissingInTheTrail(t *testing.T) {
	s := newSite(t, t.TempDir(), 1, noLimits)
	s.cfg.Groups[0].Approve = groups.Approve{Files: true}
	h, stop := s.start(nil, memory.New(memory.Options{Online: true}))
	write(t, filepath.Join(s.cfg.Layout().Workspace("g0"), "plan.txt"), "as drawn")
	id, err := s.client("g0").Enqueue(t.Context(), ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: "/workspace/group/plan.txt"}}})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it waits", func() bool {
		d, err := h.Outbox.Get(t.Context(), id)
		return err == nil && d.Waits()
	})
	if err := h.Desk(true).Drop(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it has ended", func() bool {
		r, err := s.client("g0").Status(id)
		return err == nil && r.Status == ipc.Refused
	})
	stop()
	got := map[string]bool{}
	for _, event := range s.trail(id) {
		got[event] = true
	}
	if diff := cmp.Diff(map[string]bool{"not_approved": true, "refused": true}, got); diff != "" {
		t.Errorf("the trail (-want +got):\n%s", diff)
	}
}

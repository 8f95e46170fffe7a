package queue

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/ipc"
)

// TestADropOfWhatWaitedWasMissingInTheTrail until the next start: the trail had the end of the
// delivery, and not that the operator had said no.
func TestADropOfWhatWaitedWasMissingInTheTrail(t *testing.T) {
	s, h, id, stop := planThatWaits(t)
	if err := h.Local(true).Drop(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	stage.Eventually(t, "it has ended", func() bool {
		r, err := s.Client("g0").Status(id)
		return err == nil && r.Status == ipc.Refused
	})
	stop()
	got := map[string]bool{}
	for _, event := range s.Trail(id) {
		got[event] = true
	}
	if diff := cmp.Diff(map[string]bool{"not_approved": true, "refused": true}, got); diff != "" {
		t.Errorf("the trail (-want +got):\n%s", diff)
	}
}

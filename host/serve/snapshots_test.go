package serve

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTheFirstSnapshotsCameLate: they were written while the tasks ran already, and could
// replace newer ones.
func TestTheFirstSnapshotsCameLate(t *testing.T) {
	h := newHost(t, "layout: v1\n"+everything, false)
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := os.Stat(filepath.Join(h.Layout.IPCDir(), "family", "current_tasks.json")); err != nil {
		t.Errorf("no snapshot before the parts run: %v", err)
	}
}

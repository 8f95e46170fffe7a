package backup

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/internal/fstest"
)

// TestARestoreThatFailedAtItsEndLeftHalfAnInstallation: one directory was in its place, and the
// others were deleted.
func TestARestoreThatFailedAtItsEndLeftHalfAnInstallation(t *testing.T) {
	l := groups.Layout{State: filepath.Join(t.TempDir(), "state"), V1: true}
	moved := l.Restoring()
	fstest.Mkdir(t, moved.State, "data")
	fstest.Mkdir(t, moved.State, "groups")
	fstest.Mkdir(t, l.State, "groups/in-the-way")
	if err := place(moved.Private(), l.Private()); err == nil {
		t.Error("no error")
	}
	for i, dir := range moved.Private()[:2] {
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(l.Private()[i]); (err == nil) != (i == 1) {
			t.Errorf("%s: %v", l.Private()[i], err)
		}
	}
	if l.Interrupted() == "" {
		t.Error("a host would start")
	}
}

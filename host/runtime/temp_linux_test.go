package runtime

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/internal/fstest"
)

// A directory in which its owner may not write, as Go's module cache makes
// them, kept a group's assistant from starting until an operator removed it.
// Root may remove everything, so the test runs as another user.
func TestTemporaryFilesWithoutRightsAreRemoved(t *testing.T) {
	if os.Getuid() == 0 {
		fstest.AsAnotherUser(t)
		return
	}
	dir := filepath.Join(t.TempDir(), "tmp", "fam")
	locked := filepath.Join(dir, "mod", "locked")
	err := errors.Join(os.MkdirAll(filepath.Join(locked, "below"), 0o755), os.WriteFile(filepath.Join(locked, "file"), nil, 0o644),
		os.Chmod(filepath.Join(locked, "below"), 0), os.Chmod(locked, 0o500))
	if err != nil {
		t.Fatal(err)
	}
	if err := (&process{}).makeTemp(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Dir(locked)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was locked is still there: %v", err)
	}
}

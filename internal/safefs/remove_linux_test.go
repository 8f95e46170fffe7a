package safefs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/internal/fstest"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

// TestALockedDirectoryIsRemoved, even one whose path is longer than the system takes, or is
// not UTF-8. Root may remove everything, so the test runs as another user.
func TestALockedDirectoryIsRemoved(t *testing.T) {
	if os.Getuid() == 0 {
		fstest.AsAnotherUser(t)
		return
	}
	dir := filepath.Join(t.TempDir(), "tmp")
	fstest.Mkdir(t, dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range []string{"a", "b\xff", strings.Repeat(strings.Repeat("d", 250)+"/", 20) + "d"} {
		if err := errors.Join(root.MkdirAll(name+"/below", 0o700), root.Chmod(name, 0o500)); err != nil {
			t.Fatal(err)
		}
	}
	if err := safefs.RemoveTree(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
}

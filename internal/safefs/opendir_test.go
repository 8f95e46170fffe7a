package safefs_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// A named pipe in place of a directory kept the host from starting, and SIGTERM from ending
// it. Where this test fails, it waits.
func TestAPipeInPlaceOfADirectoryMadeTheHostWait(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "ipc")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	parent, err := os.OpenRoot(filepath.Dir(pipe))
	if err != nil {
		t.Fatal(err)
	}
	defer parent.Close()
	for name, open := range map[string]func() error{
		"OpenRoot": func() error { _, err := safefs.OpenRoot(pipe); return err },
		"ReadDir":  func() error { _, err := safefs.ReadDir(pipe); return err },
		"SyncDir":  func() error { return safefs.SyncDir(pipe) },
		"OpenDir":  func() error { _, err := safefs.OpenDir(parent, "ipc"); return err },
	} {
		if err := open(); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

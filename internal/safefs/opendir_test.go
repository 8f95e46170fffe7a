package safefs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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

// TestAnErrorOfADirectoryLackedThePath: the remedy for it named a path that leads nowhere.
func TestAnErrorOfADirectoryLackedThePath(t *testing.T) {
	dir := t.TempDir()
	parent, err := safefs.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer parent.Close()
	_, err = safefs.OpenDir(parent, "family")
	want := filepath.Join(dir, "family")
	if path, ok := errors.AsType[*fs.PathError](err); !ok || path.Path != want {
		t.Errorf("OpenDir: %v, want the path %s", err, want)
	}
	if err := safefs.MakeDir(parent, "family/messages", 0o700, safefs.Self()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("MakeDir: %v, want the path %s", err, want)
	}
}

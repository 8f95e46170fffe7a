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

// TestARestoreDeletedAFileOfTheOperators: a forged backup of the state alone had a file of that name.
func TestARestoreDeletedAFileOfTheOperators(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "restored"), filepath.Join(dir, "token")
	for path, text := range map[string]string{from: "forged", to: "the operator's"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := place([]string{from}, []string{to}); err == nil {
		t.Error("no error")
	}
	if text, err := os.ReadFile(to); err != nil || string(text) != "the operator's" {
		t.Errorf("it is %q: %v", text, err)
	}
}

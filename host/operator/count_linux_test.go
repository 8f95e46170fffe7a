package operator

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestAPipeInAQueuesPlaceHoldsNoCommandUp is for an assistant with the host's
// own user, which may put anything there.
func TestAPipeInAQueuesPlaceHoldsNoCommandUp(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, link} {
		if n, err := CountJSON(path, ".json"); err == nil {
			t.Errorf("%s: counted %d", filepath.Base(path), n)
		}
	}
}

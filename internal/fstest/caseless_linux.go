package fstest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/internal/need"
)

// Caseless mounts a new file system that does not distinguish upper and lower
// case: NTFS by lowntfs-3g.
func Caseless(t *testing.T) string {
	t.Helper()
	dir := Mkdir(t, t.TempDir(), "caseless")
	image := filepath.Join(filepath.Dir(dir), "image")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 8<<20); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{"mkntfs", "--quick", "--force", "--quiet", image},
		{"lowntfs-3g", "-o", "ignore_case", image, dir}, // returns when it is mounted
	} {
		cmd := exec.Command(command[0], command[1:]...)
		if path, err := exec.LookPath("/usr/sbin/" + command[0]); err == nil { // not every user has /usr/sbin in PATH
			cmd.Path, cmd.Err = path, nil
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			need.Lacking(t, "mount a file system without upper and lower case by %s: %v: %s", command[0], err, bytes.TrimSpace(out))
		}
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	Write(t, "x", dir, "probe")
	if _, err := os.Stat(filepath.Join(dir, "PROBE")); err != nil {
		need.Lacking(t, "mount a file system without upper and lower case: %v", err)
	}
	return dir
}

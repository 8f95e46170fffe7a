package fstest

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/internal/need"
)

// SmallDisk mounts a file system in memory of that size, such as "512k", until
// the test ends.
func SmallDisk(t *testing.T, size string) string {
	t.Helper()
	mount := t.TempDir()
	if err := unix.Mount("tmpfs", mount, "tmpfs", 0, "size="+size); err != nil {
		need.Lacking(t, "mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(mount, 0); err != nil {
			t.Error(err)
		}
	})
	return mount
}

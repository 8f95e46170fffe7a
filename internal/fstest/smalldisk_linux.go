package fstest

import (
	"testing"

	"golang.org/x/sys/unix"
)

// SmallDisk mounts a file system in memory of that size, such as "512k", until
// the test ends.
func SmallDisk(t *testing.T, size string) string {
	t.Helper()
	mount := t.TempDir()
	if err := unix.Mount("tmpfs", mount, "tmpfs", 0, "size="+size); err != nil {
		Lacking(t, "the right to mount a small file system: "+err.Error())
	}
	t.Cleanup(func() {
		if err := unix.Unmount(mount, 0); err != nil {
			t.Error(err)
		}
	})
	return mount
}

package serve

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFilesInAClosedDirectoryWereCalledDeleted: the remedy for a deleted file is a backup, and a
// directory that the host may not enter needs only its rights. The doctor names it.
func TestFilesInAClosedDirectoryWereCalledDeleted(t *testing.T) {
	b := newBoundary(t, nil)
	if err := os.Chmod(b.host.Layout.Installation(), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(b.host.Layout.Installation(), 0o700) })
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread has lost root's right to enter any directory, and ends with this goroutine
		head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		if err := unix.Capset(&head, &make([]unix.CapUserData, 2)[0]); err != nil {
			t.Error(err)
			return
		}
		if lost := b.host.LostFiles(); !errors.Is(lost, fs.ErrPermission) {
			t.Errorf("the directory is closed, and the host says: %v", lost)
		}
		if all := b.host.ofFiles(); len(all) > 0 {
			t.Errorf("the directory is closed, and the finding is %+v", all)
		}
	}()
	<-done
}

package store_test

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/host/store"
)

// TestADatabaseThatMayNotBeWrittenWasOpened: a host started, could write nothing, and left a log that
// nobody may write.
func TestADatabaseThatMayNotBeWrittenWasOpened(t *testing.T) {
	s := specIn(t.TempDir())
	path := s.Dir + "/" + s.File
	if err := errors.Join(os.MkdirAll(s.Dir, 0o700), os.WriteFile(path, nil, 0o444)); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread has lost root's right to write any file, and ends with this goroutine
		head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		if err := unix.Capset(&head, &make([]unix.CapUserData, 2)[0]); err != nil {
			t.Error(err)
			return
		}
		lock, err := store.Lock(s)
		if !errors.Is(err, store.ErrUnreadable) || !strings.Contains(err.Error(), "chmod u+rwX "+path) {
			t.Errorf("%v", err)
		}
		if lock != nil {
			lock.Close()
		}
	}()
	<-done
}

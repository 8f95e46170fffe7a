package web_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/host/channel"
	stores "github.com/longshore-bridge/longshore/host/store"
)

// TestAFullDiskOfTheHistoryIsSaidInWords: SQLite's are "database or disk is
// full (13)".
func TestAFullDiskOfTheHistoryIsSaidInWords(t *testing.T) {
	mount := t.TempDir()
	if err := unix.Mount("tmpfs", mount, "tmpfs", 0, "size=512k"); err != nil {
		if os.Getenv("LONGSHORE_TEST_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip("cannot mount a small file system:", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(mount, 0); err != nil {
			t.Error(err)
		}
	})
	s := start(t, options(filepath.Join(mount, "web")))
	defer s.stop()
	for range 1000 {
		_, err := s.Send(t.Context(), channel.Message{ID: newID(), Chat: "web:family", Text: strings.Repeat("x", 2000)})
		if err == nil {
			continue
		}
		if !errors.Is(err, stores.ErrFull) || !strings.Contains(err.Error(), "the disk is full") {
			t.Error(err)
		}
		return
	}
	t.Error("the disk never ran full")
}

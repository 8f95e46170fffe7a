//go:build e2e && linux

package web_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	stores "github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/fstest"
	"github.com/longshore-bridge/longshore/media"
)

// TestAFullDiskTakesNoHalfFile sends small files until the disk is full: each one that
// was taken is whole, and the next one is taken once there is room.
func TestAFullDiskTakesNoHalfFile(t *testing.T) {
	mount := fstest.SmallDisk(t, "1m")
	opts := options(filepath.Join(mount, "web"))
	s := start(t, opts)
	ballast := filepath.Join(mount, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 100<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	content := []byte(strings.Repeat("x", 8000))
	taken := 0
	send := func() error {
		_, err := s.Send(t.Context(), channel.Message{ID: newID(), Chat: "web:family", Files: outgoing("a.txt", "text/plain", media.Document, content)})
		if err == nil {
			taken++
		}
		return err
	}
	var err error
	for err == nil && taken < 1000 {
		err = send()
	}
	if stores.Words(err) == nil || !strings.Contains(err.Error(), "disk is") {
		t.Errorf("after %d files: %v", taken, err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := send(); err != nil {
		t.Errorf("once there is room: %v", err)
	}
	s.stop()
	if n := len(stored(t, opts.Dir)); n != taken || taken == 1000 {
		t.Errorf("%d of %d files are there", n, taken)
	}
}

// TestAFullDiskOfTheHistoryIsSaidInWords: SQLite's are "database or disk is
// full (13)".
func TestAFullDiskOfTheHistoryIsSaidInWords(t *testing.T) {
	mount := fstest.SmallDisk(t, "512k")
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

package web_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	stores "github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/fstest"
)

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

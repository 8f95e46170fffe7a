package web_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// TestFilesOfNoMessageAreMovedAsideAtAStart: they were deleted. What is known
// not to be needed still is: uploads without an end, and files of messages that
// were deleted.
func TestFilesOfNoMessageAreMovedAsideAtAStart(t *testing.T) {
	opts := options(t.TempDir())
	s := start(t, opts)
	s.send(channel.Message{Files: outgoing("old.txt", "text/plain", media.Document, large("old"))})
	old := s.history("")[0].File.ID
	s.stop()
	alter(t, opts.Dir, `INSERT INTO page_gone (seq, channel, chat, id, key, file, time, forgotten) SELECT seq, channel, chat, id, key, blob, time, 0 FROM page_message;
		DELETE FROM page_message`)
	if names := stored(t, opts.Dir); len(names) != 1 || names[0] != old {
		t.Fatalf("stored: %q", names)
	}
	unknown, unfinished := newID(), newID()+".part"
	for _, name := range []string{unknown, unfinished, "mine.part"} {
		if err := os.WriteFile(filepath.Join(opts.Dir, "blobs", name), []byte("bytes"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start(t, opts)
	if left := stored(t, opts.Dir); len(left) != 1 || left[0] != "mine.part" { // the host did not make it
		t.Errorf("left: %q", left)
	}
	aside := map[string]bool{}
	found, _ := filepath.Glob(filepath.Join(opts.Dir, "aside", "*-state-swept", "*"))
	for _, path := range found {
		aside[filepath.Base(path)] = true
	}
	if diff := cmp.Diff(map[string]bool{unknown: true}, aside); diff != "" {
		t.Error(diff)
	}
}

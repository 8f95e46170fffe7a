package web_test

import (
	"os"
	"path/filepath"
	"strings"
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
	alter(t, opts.Dir, `INSERT INTO gone SELECT m.seq, m.chat, m.id, m.key, f.id, m.time, 0 FROM messages m JOIN files f ON f.message = m.seq;
		DELETE FROM files; DELETE FROM messages`)
	if names := stored(t, opts.Dir); len(names) != 1 || names[0] != old {
		t.Fatalf("stored: %q", names)
	}
	unknown, unfinished := newID(), newID()+".part"
	for _, name := range []string{unknown, unfinished, "mine.part"} {
		if err := os.WriteFile(filepath.Join(opts.Dir, "files", name), []byte("bytes"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start(t, opts)
	if left := stored(t, opts.Dir); len(left) != 1 || left[0] != "mine.part" { // the host did not make it
		t.Errorf("left: %q", left)
	}
	aside := map[string]bool{}
	found, _ := filepath.Glob(filepath.Join(opts.Dir, "aside", "*-web-swept", "*"))
	for _, path := range found {
		aside[filepath.Base(path)] = true
	}
	if diff := cmp.Diff(map[string]bool{unknown: true}, aside); diff != "" {
		t.Error(diff)
	}
}

// TestAHistoryThatIsGoneTakesNoFileWithIt: an empty database was taken for a
// first start, and every file for an orphan.
func TestAHistoryThatIsGoneTakesNoFileWithIt(t *testing.T) {
	opts := options(t.TempDir())
	s := start(t, opts)
	s.send(channel.Message{Files: outgoing("a.txt", "text/plain", media.Document, large("a"))})
	s.stop()
	before := stored(t, opts.Dir)
	for name, spoil := range map[string]func(path string) error{
		"empty":   func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"missing": os.Remove,
	} {
		if err := spoil(filepath.Join(opts.Dir, "web.db")); err != nil {
			t.Fatal(err)
		}
		if w, err := opened(opts); err == nil || !strings.Contains(err.Error(), "longshore store set-aside web") {
			t.Errorf("%s: %v, %v", name, w, err)
		}
		if diff := cmp.Diff(before, stored(t, opts.Dir)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestASecondHostDoesNotOpenTheHistory(t *testing.T) {
	opts := options(t.TempDir())
	s := start(t, opts)
	if w, err := opened(opts); err == nil || !strings.Contains(err.Error(), "another process uses the store web") {
		t.Errorf("%v, %v", w, err)
	}
	s.say("still works")
}

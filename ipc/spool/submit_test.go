package spool

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
)

// TestWhatIsSubmittedTakesTheQueue: it is handed out as a request of the container is, and
// the same one twice is the same request.
func TestWhatIsSubmittedTakesTheQueue(t *testing.T) {
	q := serve(t, prepare(t, "family"), Options{Folders: []string{"family"}})
	at := time.UnixMicro(1_800_000_000_123_456)
	for range 2 {
		if err := q.Submit("family", "a-1", []byte(hello), at); err != nil {
			t.Fatal(err)
		}
		it := <-q.got
		if it.ID != "a-1" || it.Folder != "family" || !it.ModTime.Equal(at) || it.Request.Text != "hello" {
			t.Errorf("got %+v", it)
		}
	}
	for _, id := range []string{"", "../b", ".a", strings.Repeat("x", 300)} {
		if q.Submit("family", id, []byte(hello), at) == nil {
			t.Errorf("took the id %q", id)
		}
	}
	if err := q.Submit("others", "a", []byte(hello), at); !errors.Is(err, ErrNotServed) {
		t.Error(err)
	}
}

// TestASubmittedRequestFollowsNoLink: the container has put another group's directories in
// the place of its own.
func TestASubmittedRequestFollowsNoLink(t *testing.T) {
	dir := prepare(t, "evil", "family")
	s := New(Options{Dir: dir, Folders: []string{"evil", "family"}})
	defer s.Close()
	if err := s.Submit("evil", "first", []byte(hello), time.Now()); err != nil { // its directory is open now
		t.Fatal(err)
	}
	for _, leaf := range []string{ipc.MessagesDir, ipc.FilesDir} {
		own := filepath.Join(dir, "evil", leaf)
		if err := errors.Join(os.Rename(own, own+"-moved"), os.Symlink("../family/"+leaf, own)); err != nil {
			t.Fatal(err)
		}
	}
	if s.Submit("evil", "x", []byte(hello), time.Now()) == nil {
		t.Error("submitted through a link")
	}
	if _, err := s.Stage("evil", "x", "a.txt", strings.NewReader("a")); err == nil {
		t.Error("staged through a link")
	}
	for _, leaf := range []string{ipc.MessagesDir, ipc.FilesDir} {
		if in, err := os.ReadDir(filepath.Join(dir, "family", leaf)); err != nil || len(in) > 0 {
			t.Error(leaf, in, err)
		}
	}
}

// TestStagedBytesAreReplacedAndRemoved also through a planted link.
func TestStagedBytesAreReplacedAndRemoved(t *testing.T) {
	dir := prepare(t, "family")
	s := New(Options{Dir: dir, Folders: []string{"family"}})
	defer s.Close()
	if err := os.WriteFile(filepath.Join(dir, "precious"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	var path string
	for _, content := range []string{"first", "second"} {
		var err error
		if path, err = s.Stage("family", "x", "../a.txt", strings.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, "family", path))
		if err != nil || !bytes.Equal(got, []byte(content)) {
			t.Errorf("%q, %v", got, err)
		}
		if err := errors.Join(os.Remove(filepath.Join(dir, "family", path)), os.Symlink("../../../precious", filepath.Join(dir, "family", path))); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "precious")); string(got) != "precious" {
		t.Errorf("a link was followed: %q", got)
	}
	if err := s.Unstage("family", "x"); err != nil {
		t.Error(err)
	}
	if in, err := os.ReadDir(filepath.Join(dir, "family", ipc.FilesDir)); err != nil || len(in) > 0 {
		t.Error(in, err)
	}
}

// TestARequestIsWithdrawnOnce and its waiters are told of results.
func TestARequestIsWithdrawnOnce(t *testing.T) {
	s := New(Options{Dir: prepare(t, "family"), Folders: []string{"family"}})
	defer s.Close()
	if err := s.Submit("family", "x", []byte(hello), time.Now()); err != nil || !s.Waits("family", "x") {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		if got, err := s.Withdraw("family", "x"); got != want || err != nil || s.Waits("family", "x") {
			t.Error(got, err)
		}
	}
	told := s.Told("family")
	if err := s.WriteResult("family", ipc.Result{ID: "x", Status: ipc.Sent}); err != nil {
		t.Fatal(err)
	}
	<-told
}

package blob_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/host/blob"
)

const (
	rewritten = 1 << 20
	block     = 16 << 10
)

// TestSnapshotIsNeverTorn rewrites a file all the time, block by block, with
// one letter after the other, and sets its modification time back. What is
// kept must be what the file was at one instant; reading it plainly must not.
func TestSnapshotIsNeverTorn(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte(strings.Repeat("a", rewritten)), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stop := rewrite(t, path)
	kept, refused, torn := 0, 0, 0
	for i := 0; i < 40 || torn == 0 && i < 2000; i++ {
		if !oneInstant(readSlowly(t, f)) {
			torn++
		}
		if i >= 40 {
			continue
		}
		b, err := s.Snapshot(context.Background(), f, rewritten)
		if errors.Is(err, blob.ErrChanged) {
			refused++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		kept++
		content, err := os.ReadFile(filepath.Join(dir, b.Name))
		if err != nil || !oneInstant(content) {
			t.Errorf("a torn snapshot was kept: %v", err)
		}
		remove(t, s, b)
	}
	stop()
	if b, err := s.Snapshot(context.Background(), f, rewritten); err != nil {
		t.Errorf("the file at rest: %v", err)
	} else {
		remove(t, s, b)
	}
	if refused == 0 || torn == 0 {
		t.Errorf("%d refused; read plainly, %d torn", refused, torn)
	}
	t.Logf("%d kept, %d refused; read plainly, %d torn", kept, refused, torn)
}

// readSlowly reads as a careless copy does, a few bytes at a time.
func readSlowly(t *testing.T, f *os.File) []byte {
	content := make([]byte, rewritten)
	for at := int64(0); at < rewritten; at += 512 {
		if _, err := f.ReadAt(content[at:at+512], at); err != nil {
			t.Fatal(err)
		}
	}
	return content
}

// rewrite writes the file anew until it is stopped.
func rewrite(t *testing.T, path string) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(ended)
		defer w.Close()
		for c := byte('b'); ; c = 'a' + (c-'a'+1)%26 {
			b := []byte(strings.Repeat(string(c), block))
			for at := int64(0); at < rewritten; at += block {
				select {
				case <-end:
					return
				default:
				}
				if _, err := w.WriteAt(b, at); err != nil {
					t.Error(err)
					return
				}
				_ = unix.Futimes(int(w.Fd()), []unix.Timeval{{Sec: 1}, {Sec: 1}})
			}
		}
	}()
	return func() { close(end); <-ended }
}

// oneInstant says whether a file that rewrite works on can have had this
// content: so many whole blocks of one letter, the rest of the letter before.
func oneInstant(content []byte) bool {
	changes := 0
	for at := 0; at < len(content); at += block {
		b := content[at : at+block]
		if bytes.Count(b, b[:1]) != block {
			return false
		}
		if before := content[max(0, at-1)]; before != b[0] {
			changes++
			if before != 'a'+(b[0]-'a'+1)%26 {
				return false
			}
		}
	}
	return changes <= 1
}

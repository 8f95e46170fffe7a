package outbox_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/host/outbox"
)

func TestCopyKeepsExactlyWhatWasSaid(t *testing.T) {
	o := open(t, outbox.Options{})
	tests := []struct {
		name, content string
		size          int64
		want          error
	}{
		{"as said", "hello", 5, nil},
		{"empty", "", 0, nil},
		{"grew", "hello, world", 5, outbox.ErrChanged},
		{"was truncated", "hel", 5, outbox.ErrChanged},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.Read(make([]byte, 2)); err != nil && err != io.EOF {
				t.Fatal(err)
			}
			fromFile, err := o.CopyFile(context.Background(), f, tt.size)
			if !errors.Is(err, tt.want) {
				t.Errorf("copy file: %v", err)
			}
			fromReader, err := o.Copy(context.Background(), strings.NewReader(tt.content), tt.size)
			if !errors.Is(err, tt.want) {
				t.Errorf("copy: %v", err)
			}
			for _, b := range []outbox.Blob{fromFile, fromReader} {
				if tt.want != nil {
					continue
				}
				kept, err := os.ReadFile(filepath.Join(o.Dir(), "files", b.Name))
				sum := sha256.Sum256([]byte(tt.content))
				if err != nil || string(kept) != tt.content || b.SHA256 != hex.EncodeToString(sum[:]) || b.Size != tt.size {
					t.Errorf("kept %q as %+v: %v", kept, b, err)
				}
				o.Discard(b)
			}
			if left := blobs(t, o); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestSnapshotIsNeverTorn rewrites a file all the time, block by block, with
// one letter after the other, and sets its modification time back. What is
// kept must be what the file was at one instant; reading it plainly must not.
func TestSnapshotIsNeverTorn(t *testing.T) {
	o := open(t, outbox.Options{})
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
		b, err := o.CopyFile(context.Background(), f, rewritten)
		if errors.Is(err, outbox.ErrChanged) {
			refused++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		kept++
		content, err := os.ReadFile(filepath.Join(o.Dir(), "files", b.Name))
		if err != nil || !oneInstant(content) {
			t.Errorf("a torn snapshot was kept: %v", err)
		}
		o.Discard(b)
	}
	stop()
	if b, err := o.CopyFile(context.Background(), f, rewritten); err != nil {
		t.Errorf("the file at rest: %v", err)
	} else {
		o.Discard(b)
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

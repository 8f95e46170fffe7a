package blob

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// few opens a store that keeps copies of few bytes, and puts a blob into its place.
func few(t *testing.T, most int64, content string) (s *Store, b Blob) {
	t.Helper()
	dir := t.TempDir()
	s, err := OpenShared(t.TempDir(), NewDirectory(dir))
	if err == nil {
		t.Cleanup(func() { s.Close() })
		err = errors.Join(s.Claim(t.Context(), newName()), os.Chmod(dir, 0o700))
	}
	if err == nil {
		s.shared.note("reach", nil)
		s.shared.copies.most = most
		b, err = s.Stage(t.Context(), strings.NewReader(content), 1<<20, nil)
	}
	if err = errors.Join(err, s.Publish(t.Context(), b.Name)); err != nil {
		t.Fatal(err)
	}
	s.shared.copies.drop(b.Name)
	return s, b
}

var twice = strings.Repeat("the bytes ", 5000)

// The copy was deleted before it was opened: the file was said to be gone, and never sent.
func TestAFileLargerThanAllCopiesWasGone(t *testing.T) {
	s, b := few(t, 1000, twice)
	for range 2 {
		f, err := s.Open(t.Context(), b.Name, b.SHA256, b.Size)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(f); string(got) != twice || err != nil {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		f.Close()
	}
	if _, ok := s.shared.copies.get(b.Name); !ok {
		t.Error("the only copy was deleted, although it was used last")
	}
	other, err := s.Stage(t.Context(), strings.NewReader(twice), 1<<20, nil)
	if err = errors.Join(err, s.Publish(t.Context(), other.Name)); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.shared.copies.get(b.Name); ok {
		t.Error("two copies are more than allowed")
	}
}

// Each fetch left a file open, for as long as the host ran.
func TestAFetchLeftItsFileOpen(t *testing.T) {
	s, b := few(t, 1<<20, twice)
	f, err := s.Open(t.Context(), b.Name, b.SHA256, b.Size)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	open, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range open {
		if path, err := os.Readlink(one); err == nil && path == s.file(b.Name) {
			t.Errorf("%s is open", path)
		}
	}
}

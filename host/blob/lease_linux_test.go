package blob_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/host/blob"
)

// A write that had begun before the copy, and whose program stood still meanwhile, went out
// half old and half new: neither size nor change time show it. Only the open file does.
func TestAFileThatSomebodyHadOpenForWritingWasCopied(t *testing.T) {
	s := open(t, t.TempDir())
	for name, size := range map[string]int{"large": rewritten, "small": block} {
		path := filepath.Join(t.TempDir(), name)
		w, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if _, err := w.Write(bytes.Repeat([]byte("a"), size)); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := s.Snapshot(t.Context(), f, int64(size)); !errors.Is(err, blob.ErrChanged) {
			t.Errorf("%s, while a program has it open: %v", name, err)
		}
		if b, err := s.Snapshot(t.Context(), w, int64(size)); err != nil { // the host itself has written it
			t.Errorf("%s, the host's own: %v", name, err)
		} else {
			remove(t, s, b)
		}
		mapped, err := unix.Mmap(int(w.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Snapshot(t.Context(), f, int64(size)); !errors.Is(err, blob.ErrChanged) {
			t.Errorf("%s, closed but mapped: %v", name, err)
		}
		if err := unix.Munmap(mapped); err != nil {
			t.Fatal(err)
		}
		b, err := s.Snapshot(t.Context(), f, int64(size))
		if err != nil {
			t.Fatalf("%s, just closed: %v", name, err)
		}
		remove(t, s, b)
		if w, err = os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0); err != nil {
			t.Errorf("%s: the copy left its lease: %v", name, err)
		} else if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}

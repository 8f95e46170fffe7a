package blob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/store"
)

// withRows opens a store whose small blobs are rows of a database.
func withRows(t *testing.T) (*blob.Store, *store.DB, *store.Committer) {
	t.Helper()
	spec := store.Spec{Name: "test", Dir: t.TempDir(), File: "test.db", Files: "files", Schema: blob.Schema, Pragmas: []string{"journal_mode(WAL)"}}
	db, err := store.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, filepath.Join(spec.Dir, "files"))
	c, err := db.Committer(t.Context(), s)
	if err := errors.Join(err, s.UseRows(t.Context(), db)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(); c.Close(); db.Close() })
	return s, db, c
}

// commit makes one commit of run.
func commit(t *testing.T, c *store.Committer, run func(*store.Tx) error) {
	t.Helper()
	if err := c.Do(t.Context(), run, nil); err != nil {
		t.Fatal(err)
	}
}

// TestASmallBlobIsARowAndNoFile keeps contents around the bound, of a reader and of
// a file.
func TestASmallBlobIsARowAndNoFile(t *testing.T) {
	s, db, c := withRows(t)
	for _, size := range []int{0, 1, blob.Small, blob.Small + 1} {
		content := strings.Repeat("x", size)
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		snapshot, err := s.Snapshot(t.Context(), f, int64(size))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range []blob.Blob{stage(t, s, content), snapshot} {
			small := size <= blob.Small
			if (b.Bytes != nil) != small || blob.IsName(b.Name) == small || !blob.IsBlob(b.Name) || b.Size != int64(size) {
				t.Errorf("%d bytes became %s with %d bytes in memory", size, b.Name, len(b.Bytes))
			}
			commit(t, c, func(tx *store.Tx) error { return blob.Insert(tx, b.Name, b.Bytes) })
			r, err := s.Open(t.Context(), b.Name, b.SHA256, b.Size)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if err := errors.Join(err, r.Close()); err != nil || string(got) != content {
				t.Errorf("%d bytes are read as %d: %v", size, len(got), err)
			}
			commit(t, c, func(tx *store.Tx) error { return blob.Delete(tx, b.Name) })
			remove(t, s, b)
			if _, err := s.Open(t.Context(), b.Name, b.SHA256, b.Size); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("opened after it was deleted: %v", err)
			}
		}
	}
	var rows int
	if err := db.QueryRow(`SELECT count(*) FROM bytes`).Scan(&rows); err != nil || rows != 0 {
		t.Errorf("%d rows left, %v", rows, err)
	}
}

func TestWhatFailsMakesNoRow(t *testing.T) {
	s, _, _ := withRows(t)
	broken := errors.New("broken")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for want, stage := range map[error]func() (blob.Blob, error){
		blob.ErrTooLarge: func() (blob.Blob, error) { return s.Stage(t.Context(), strings.NewReader("12345"), 4, nil) },
		broken: func() (blob.Blob, error) {
			return s.Stage(t.Context(), io.MultiReader(strings.NewReader("1"), failing{broken}), 4, nil)
		},
		context.Canceled: func() (blob.Blob, error) { return s.Stage(ended, strings.NewReader("1"), 4, nil) },
	} {
		if b, err := stage(); !errors.Is(err, want) || b.Name != "" {
			t.Errorf("%v: %+v, %v", want, b, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestTheSpaceOfDeletedBytesIsUsedAgain: what is sent must not make the database
// grow for ever.
func TestTheSpaceOfDeletedBytesIsUsedAgain(t *testing.T) {
	s, db, c := withRows(t)
	pages := func() (n int) {
		if err := db.QueryRow(`PRAGMA page_count`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	var most int
	for round := range 20 {
		var names []string
		commit(t, c, func(tx *store.Tx) error {
			for range 20 {
				b := stage(t, s, strings.Repeat("x", 5000))
				names = append(names, b.Name)
				if err := blob.Insert(tx, b.Name, b.Bytes); err != nil {
					return err
				}
			}
			return nil
		})
		if round == 0 {
			most = pages()
		}
		commit(t, c, func(tx *store.Tx) error { return blob.Delete(tx, names...) })
	}
	if now := pages(); now > most+2 {
		t.Errorf("the database has %d pages, and had %d", now, most)
	}
}

// TestASmallSnapshotIsNeverTorn rewrites a small file all the time, as
// TestSnapshotIsNeverTorn does.
func TestASmallSnapshotIsNeverTorn(t *testing.T) {
	s, _, _ := withRows(t)
	const size, block = blob.Small, 4 << 10
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	end, ended := make(chan struct{}), make(chan error)
	go func() {
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		for c := byte(1); err == nil; c++ {
			for at := int64(0); at < size && err == nil; at += block {
				_, err = w.WriteAt(bytes.Repeat([]byte{c}, block), at)
			}
			select {
			case <-end:
				ended <- errors.Join(err, w.Close())
				return
			default:
			}
		}
		ended <- err
	}()
	kept := 0
	for range 2000 {
		b, err := s.Snapshot(t.Context(), f, size)
		if errors.Is(err, blob.ErrChanged) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		kept++
		var changes int
		for at := range b.Bytes[1:] {
			if before, c := b.Bytes[at], b.Bytes[at+1]; c == before-1 {
				changes++ // here the writer is
			} else if c != before {
				changes += 2
			}
		}
		if changes > 1 {
			t.Error("a torn snapshot was kept")
		}
	}
	close(end)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	t.Logf("%d of 2000 kept", kept)
	if b, err := s.Snapshot(t.Context(), f, size); err != nil || b.Size != size {
		t.Errorf("the file at rest: %v", err)
	}
}

// io.ErrUnexpectedEOF of a source that was cut passed for the end of a short file.
func TestASourceThatWasCutBecameAShortFile(t *testing.T) {
	for _, rows := range []bool{false, true} {
		s := open(t, t.TempDir())
		if rows {
			s, _, _ = withRows(t)
		}
		for _, cause := range []error{io.ErrUnexpectedEOF, fmt.Errorf("the body broke off: %w", io.EOF)} {
			for _, n := range []int{0, 53, blob.Small, blob.Small + 1, 2 << 20} {
				r := io.MultiReader(strings.NewReader(strings.Repeat("x", n)), iotest.ErrReader(cause))
				if b, err := s.Stage(t.Context(), r, 4<<20, nil); !errors.Is(err, cause) {
					t.Errorf("rows %v, cut after %d bytes by %v: %d bytes, %v", rows, n, cause, b.Size, err)
				}
			}
		}
	}
}

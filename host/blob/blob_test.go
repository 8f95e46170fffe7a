package blob_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/media"
)

func open(t *testing.T, dir string) *blob.Store {
	t.Helper()
	s, err := blob.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// openFile opens a blob of the directory.
func openFile(t *testing.T, s *blob.Store, b blob.Blob) *blob.File {
	t.Helper()
	f, err := s.Open(t.Context(), b.Name, b.SHA256, b.Size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f.(*blob.File)
}

func stage(t *testing.T, s *blob.Store, content string) blob.Blob {
	t.Helper()
	b, err := s.Stage(context.Background(), strings.NewReader(content), int64(len(content)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func remove(t *testing.T, s *blob.Store, b blob.Blob) {
	t.Helper()
	if err := s.Remove(b.Name); err != nil {
		t.Error(err)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestALifeOfABlob(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "files")
	s := open(t, dir)
	content := strings.Repeat("x", 3<<20) + "end"
	var last int64
	b, err := s.Stage(context.Background(), iotest.HalfReader(strings.NewReader(content)), int64(len(content)), func(n int64) { last = n })
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(content))
	want := blob.Blob{Name: b.Name, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:]), Head: []byte(content[:media.HeadSize])}
	if diff := cmp.Diff(want, b); diff != "" || last != b.Size || !blob.IsName(b.Name) {
		t.Errorf("progress %d: %s", last, diff)
	}
	if err := s.Keep(); err != nil {
		t.Error(err)
	}
	f, err := s.Open(t.Context(), b.Name, b.SHA256, b.Size)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	remove(t, s, b)
	remove(t, s, b) // again, which is no error
	if got, err := io.ReadAll(f); err != nil || string(got) != content {
		t.Errorf("a reader has %d bytes after the blob was deleted: %v", len(got), err)
	}
	if _, err := s.Open(t.Context(), b.Name, b.SHA256, b.Size); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opened after it was deleted: %v", err)
	}
	if left := names(t, dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestWhatFailsLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	broken := errors.New("broken")
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		r    io.Reader
		want error
	}{
		{"too large", context.Background(), strings.NewReader("12345"), blob.ErrTooLarge},
		{"a reader that fails", context.Background(), io.MultiReader(strings.NewReader("12"), iotest.ErrReader(broken)), broken},
		{"cancelled", ended, strings.NewReader("12"), context.Canceled},
	}
	for _, tt := range tests {
		b, err := s.Stage(tt.ctx, tt.r, 4, nil)
		var disk *fs.PathError
		if !errors.Is(err, tt.want) || errors.As(err, &disk) || b.Name != "" {
			t.Errorf("%s: %+v, %v", tt.name, b, err)
		}
	}
	if left := names(t, dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestABlobOfAnotherStoreIsLinked: the bytes are on the disk once, each store
// deletes its own name, and the bytes stay until both have.
func TestABlobOfAnotherStoreIsLinked(t *testing.T) {
	root := t.TempDir()
	a, b := open(t, filepath.Join(root, "a")), open(t, filepath.Join(root, "b"))
	content := strings.Repeat("y", 2<<20) + "!"
	from := stage(t, a, content)
	f := openFile(t, a, from)
	var last int64
	to, err := b.Stage(context.Background(), f, from.Size, func(n int64) { last = n })
	if err != nil {
		t.Fatal(err)
	}
	want := from
	want.Name = to.Name
	if diff := cmp.Diff(want, to); diff != "" || to.Name == from.Name || last != from.Size {
		t.Errorf("progress %d: %s", last, diff)
	}
	there, err := os.Stat(filepath.Join(root, "b", to.Name))
	if err != nil {
		t.Fatal(err)
	}
	if here, err := f.Stat(); err != nil || !os.SameFile(here, there) {
		t.Errorf("the bytes were copied: %v", err)
	}
	remove(t, a, from)
	if got, err := os.ReadFile(filepath.Join(root, "b", to.Name)); err != nil || string(got) != content {
		t.Errorf("%d bytes once the other store has deleted its own: %v", len(got), err)
	}
	if _, err := b.Stage(context.Background(), f, from.Size-1, nil); !errors.Is(err, blob.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
}

// TestWhatCannotBeLinkedIsCopied: a blob whose name is gone, and a file that
// was read before.
func TestWhatCannotBeLinkedIsCopied(t *testing.T) {
	root := t.TempDir()
	a, b := open(t, filepath.Join(root, "a")), open(t, filepath.Join(root, "b"))
	for want, prepare := range map[string]func(f *blob.File, from blob.Blob){
		"3456789":    func(f *blob.File, _ blob.Blob) { f.Seek(3, io.SeekStart) },
		"0123456789": func(_ *blob.File, from blob.Blob) { remove(t, a, from) },
	} {
		from := stage(t, a, "0123456789")
		f := openFile(t, a, from)
		prepare(f, from)
		to, err := b.Stage(context.Background(), f, 10, nil)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, "b", to.Name)
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("got %q, want %q: %v", got, want, err)
		}
		copied, err := os.Stat(path)
		opened, failed := f.Stat()
		if err := errors.Join(err, failed); err != nil || os.SameFile(copied, opened) {
			t.Errorf("%s: linked: %v", want, err)
		}
	}
}

func TestOnlyBlobsAreOpenedAndDeleted(t *testing.T) {
	root := t.TempDir()
	s := open(t, filepath.Join(root, "files"))
	if err := os.WriteFile(filepath.Join(root, "secret"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "../secret", "note to self", strings.Repeat("A", 32), strings.Repeat("a", 32) + ".part"} {
		if _, err := s.Open(t.Context(), name, "", 0); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("opened %q: %v", name, err)
		}
		if err := s.Remove(name); err != nil {
			t.Errorf("delete %q: %v", name, err)
		}
	}
	if got := names(t, root); !slices.Contains(got, "secret") {
		t.Errorf("there is %v", got)
	}
}

func TestSweepDeletesOnlyWhatIsKnownNotToBeNeeded(t *testing.T) {
	spec := store.Spec{Name: "test", Dir: t.TempDir(), Files: "files"}
	dir := filepath.Join(spec.Dir, "files")
	s := open(t, dir)
	known, deleted, orphan := stage(t, s, "known"), stage(t, s, "deleted"), stage(t, s, "orphan")
	lost := strings.Repeat("0", 32)
	unfinished := strings.Repeat("1", 32) + ".part"
	for _, name := range []string{unfinished, "mine.part", "holiday.jpg"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	missing, err := s.Sweep(t.Context(), spec, map[string]bool{known.Name: true, lost: true}, map[string]bool{deleted.Name: true}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{lost}, missing); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{known.Name, "holiday.jpg", "mine.part"}, names(t, dir)); diff != "" {
		t.Error(diff)
	}
	aside, err := filepath.Glob(filepath.Join(spec.Dir, "aside", "*-test-swept", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range aside {
		aside[i] = filepath.Base(aside[i])
	}
	want := []string{orphan.Name}
	if diff := cmp.Diff(want, aside); diff != "" {
		t.Error(diff)
	}
}

// The sweep of a start moved an operator's photos aside, and a week later deleted them.
func TestASweepTouchedWhatTheStoreHadNotMade(t *testing.T) {
	spec := store.Spec{Name: "test", Dir: t.TempDir(), Files: "files"}
	dir := filepath.Join(spec.Dir, "files")
	s := open(t, dir)
	hex := strings.Repeat("a", 32)
	if err := errors.Join(os.Mkdir(filepath.Join(dir, hex), 0o700), os.Symlink("/etc/hosts", filepath.Join(dir, strings.Repeat("b", 32)))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"photo.jpg", "photo.jpg.part", "." + hex, hex + ".jpg", strings.ToUpper(hex), hex[1:]} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := names(t, dir)
	if _, err := s.Sweep(t.Context(), spec, nil, nil, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, names(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// Behind a link, the sweep took a directory of the operator's for its own.
func TestALinkLedTheSweepToAnotherDirectory(t *testing.T) {
	spec := store.Spec{Name: "test", Dir: t.TempDir(), Files: "files"}
	elsewhere, dir := t.TempDir(), filepath.Join(spec.Dir, "files")
	if err := os.WriteFile(filepath.Join(elsewhere, strings.Repeat("0", 32)), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, dir); err != nil {
		t.Fatal(err)
	}
	if s, err := blob.Open(dir); err == nil || !strings.Contains(err.Error(), "put a directory in its place") {
		t.Errorf("opened %v: %v", s, err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	if err := errors.Join(os.Remove(dir), os.Symlink(elsewhere, dir)); err != nil { // since the start
		t.Fatal(err)
	}
	if _, err := s.Sweep(t.Context(), spec, nil, nil, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("swept behind the link")
	}
	if left := names(t, elsewhere); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}

// A host that was to end went on sweeping.
func TestASweepWentOnWhenItWasToEnd(t *testing.T) {
	spec := store.Spec{Name: "test", Dir: t.TempDir(), Files: "files"}
	dir := filepath.Join(spec.Dir, "files")
	s := open(t, dir)
	orphan := stage(t, s, "orphan")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Sweep(ctx, spec, nil, nil, slog.New(slog.DiscardHandler)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{orphan.Name}, names(t, dir)); diff != "" {
		t.Error(diff)
	}
}

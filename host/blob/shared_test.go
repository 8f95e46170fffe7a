package blob_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/internal/finding"
)

const mark = "00112233445566778899aabbccddeeff"

// shareAt opens a store of one of the hosts that share a place.
func shareAt(t *testing.T, place blob.Place) *blob.Store {
	t.Helper()
	s, err := blob.OpenShared(t.TempDir(), place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	_ = s.Reach(t.Context(), mark)
	return s
}

// sharedDir is a directory that hosts share, with its mark.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, blob.Marker), []byte(mark), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

var content = strings.Repeat("the bytes ", 5000)

// publish makes a blob that all hosts find.
func publish(t *testing.T, s *blob.Store) blob.Blob {
	t.Helper()
	b := stage(t, s, content)
	if err := s.Publish(t.Context(), b.Name); err != nil {
		t.Fatal(err)
	}
	return b
}

// read returns what a host reads of a blob.
func read(t *testing.T, s *blob.Store, b blob.Blob) (string, error) {
	t.Helper()
	f, err := s.Open(t.Context(), b.Name, b.SHA256, b.Size)
	if err != nil {
		return "", err
	}
	defer f.Close()
	all, err := io.ReadAll(f)
	return string(all), err
}

func has(s *blob.Store, name string) bool {
	for _, f := range s.Findings(context.Background()) {
		if f.Name == name {
			return f.Cause != "" && f.Remedy != ""
		}
	}
	return false
}

func TestAnotherHostReadsWhatOneHasPublished(t *testing.T) {
	dir := sharedDir(t)
	one, other := shareAt(t, blob.NewDirectory(dir)), shareAt(t, blob.NewDirectory(dir))
	b := stage(t, one, content)
	if got, err := read(t, one, b); got != content || err != nil { // before it is published: it is screened
		t.Errorf("its own host: %v", err)
	}
	if _, err := read(t, other, b); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before it is published: %v", err)
	}
	for range 2 {
		if err := one.Publish(t.Context(), b.Name); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := read(t, other, b); got != content || err != nil {
		t.Errorf("another host: %v", err)
	}
	// The same bytes under another name: neither is read for it.
	src := openFile(t, other, b)
	second, err := other.Stage(t.Context(), src, int64(len(content)), nil)
	if err == nil {
		err = other.Publish(t.Context(), second.Name)
	}
	if err != nil {
		t.Fatal(err)
	}
	if first, now := stat(t, filepath.Join(dir, b.Name)), stat(t, filepath.Join(dir, second.Name)); !os.SameFile(first, now) {
		t.Error("the bytes were copied")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
}

func stat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return fi
}

func TestBytesThatChangedInThePlaceAreNeverRead(t *testing.T) {
	dir := sharedDir(t)
	b := publish(t, shareAt(t, blob.NewDirectory(dir)))
	path := filepath.Join(dir, b.Name)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-1] ^= 1
	for name, wrong := range map[string][]byte{"a bit": flipped, "cut": whole[:20000], "longer": append(bytes.Clone(whole), 'x'), "empty": nil} {
		t.Run(name, func(t *testing.T) {
			other := shareAt(t, blob.NewDirectory(dir))
			if err := os.WriteFile(path, wrong, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := read(t, other, b)
			if trouble, ok := errors.AsType[*blob.Trouble](err); !ok || trouble.Remedy == "" || strings.Contains(err.Error(), dir) {
				t.Errorf("%v", err)
			}
			if !has(other, finding.FilesDamaged) {
				t.Errorf("no finding: %v", other.Findings(t.Context()))
			}
			if err := os.WriteFile(path, whole, 0o600); err != nil { // somebody has repaired it
				t.Fatal(err)
			}
			if got, err := read(t, other, b); got != content || err != nil {
				t.Error(err)
			}
			if all := other.Findings(t.Context()); len(all) > 0 {
				t.Errorf("after the repair: %v", all)
			}
		})
	}
}

// Without its marker, a mount point was written to as if the file system were there.
func TestADirectoryThatIsNotMountedIsNotWrittenTo(t *testing.T) {
	dir := sharedDir(t)
	s := shareAt(t, blob.NewDirectory(dir))
	b := publish(t, s)
	away := dir + "-away"
	if err := errors.Join(os.Rename(dir, away), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	late := stage(t, s, content)
	if err := s.Publish(t.Context(), late.Name); !trouble(err) {
		t.Errorf("published below a mount point: %v", err)
	}
	if _, err := read(t, shareAt(t, blob.NewDirectory(dir)), b); !trouble(err) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is elsewhere is said to be gone: %v", err)
	}
	if err := s.Reach(t.Context(), mark); !trouble(err) || !has(s, finding.FilesAway) || !has(s, finding.FilesUnwritten) {
		t.Errorf("%v, %v", err, s.Findings(t.Context()))
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("the mount point has %v, %v", entries, err)
	}
	if err := errors.Join(os.Remove(dir), os.Rename(away, dir), s.Reach(t.Context(), mark)); err != nil {
		t.Fatal(err)
	}
	if all := s.Findings(t.Context()); len(all) > 0 {
		t.Errorf("it is mounted again: %v", all)
	}
	if err := s.Publish(t.Context(), late.Name); err != nil {
		t.Error(err)
	}
	if got, err := read(t, shareAt(t, blob.NewDirectory(dir)), b); got != content || err != nil {
		t.Error(err)
	}
}

func trouble(err error) bool {
	_, ok := errors.AsType[*blob.Trouble](err)
	return ok
}

func TestADirectoryOfAnotherInstallationIsRefused(t *testing.T) {
	dir := sharedDir(t)
	s := shareAt(t, blob.NewDirectory(dir))
	if err := os.WriteFile(filepath.Join(dir, blob.Marker), []byte(strings.Repeat("f", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Reach(t.Context(), mark); !trouble(err) {
		t.Error(err)
	}
	if err := s.Publish(t.Context(), stage(t, s, content).Name); !trouble(err) {
		t.Errorf("published: %v", err)
	}
}

func TestAPlaceIsTakenOnlyIfNobodyHasIt(t *testing.T) {
	dir := t.TempDir()
	open := func() *blob.Store {
		s, err := blob.OpenShared(t.TempDir(), blob.NewDirectory(dir))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	s := open()
	for range 2 { // the host died before its database had noted it
		if err := s.Claim(t.Context(), mark); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Reach(t.Context(), mark); err != nil {
		t.Fatal(err)
	}
	other := strings.Repeat("f", 32)
	if err := open().Claim(t.Context(), other); !trouble(err) {
		t.Errorf("an empty place that is taken: %v", err)
	}
	publish(t, s)
	if err := open().Claim(t.Context(), other); !trouble(err) {
		t.Errorf("a place with files: %v", err)
	}
	if err := s.Reach(t.Context(), mark); err != nil {
		t.Error(err)
	}
}

// A call that hangs in a network file system ends no system call: the file is a pipe into which nobody writes.
func TestADirectoryThatHangsHoldsUpNobodyForLong(t *testing.T) {
	dir := sharedDir(t)
	s := shareAt(t, blob.NewDirectory(dir))
	b := publish(t, s)
	path := filepath.Join(dir, b.Name)
	if err := errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	other := shareAt(t, blob.NewDirectory(dir))
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error)
	go func() {
		_, err := other.Open(ctx, b.Name, b.SHA256, b.Size)
		ended <- err
	}()
	f, err := os.OpenFile(path, os.O_WRONLY, 0) // returns once the call has opened it, and reads
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // lets the call go
	cancel(nil)
	if err := <-ended; err == nil {
		t.Error("it was read")
	}
}

// faulty is a place whose calls fail with err, if it is not nil.
type faulty struct {
	blob.Place
	err  error
	puts int
}

func (f *faulty) Put(ctx context.Context, name string, from *os.File, size int64) error {
	if f.puts++; f.err != nil {
		return f.err
	}
	return f.Place.Put(ctx, name, from, size)
}

func TestAPlaceThatIsFullIsAFindingUntilItIsWritten(t *testing.T) {
	place := &faulty{Place: blob.NewDirectory(sharedDir(t))}
	s := shareAt(t, place)
	place.err = &blob.Trouble{Cause: "full", Remedy: "make room", Err: unix.ENOSPC}
	b := stage(t, s, content)
	if err := s.Publish(t.Context(), b.Name); !errors.Is(err, unix.ENOSPC) {
		t.Error(err)
	}
	puts := place.puts
	if err := s.Publish(t.Context(), b.Name); err == nil || place.puts != puts { // else each would wait for as long as the first
		t.Errorf("tried again before a test: %v, %d puts", err, place.puts-puts)
	}
	for range 2 {
		if err := s.Reach(t.Context(), mark); err != nil || !has(s, finding.FilesUnwritten) {
			t.Errorf("%v; %v", err, s.Findings(t.Context()))
		}
	}
	place.err = nil
	if err := s.Reach(t.Context(), mark); err != nil || len(s.Findings(t.Context())) > 0 {
		t.Errorf("there is room again: %v, %v", err, s.Findings(t.Context()))
	}
	if err := s.Publish(t.Context(), b.Name); err != nil {
		t.Error(err)
	}
}

// endless is a place whose blobs are far longer than their records say.
type endless struct {
	blob.Place
	wrote int
}

func (e *endless) Get(ctx context.Context, name string, to io.Writer) error {
	if !blob.IsName(name) {
		return e.Place.Get(ctx, name, to)
	}
	for e.wrote < 100<<20 {
		n, err := to.Write(make([]byte, 1<<20))
		if e.wrote += n; err != nil {
			return &blob.Trouble{Cause: "a writer refuses", Err: err}
		}
	}
	return nil
}

func TestAFileThatGrewInThePlaceFilledTheDisk(t *testing.T) {
	place := &endless{Place: blob.NewDirectory(sharedDir(t))}
	s := shareAt(t, place)
	b := publish(t, shareAt(t, place))
	if _, err := read(t, s, b); !trouble(err) || !has(s, finding.FilesDamaged) || has(s, finding.FilesUnread) {
		t.Errorf("%v; %v", err, s.Findings(t.Context()))
	}
	if place.wrote > 1<<20 {
		t.Errorf("%d MiB of a file of %d bytes were taken", place.wrote>>20, b.Size)
	}
}

func TestOnlyWhatNoRecordHasNamedIsDeletedAtOnce(t *testing.T) {
	dir := sharedDir(t)
	s := shareAt(t, blob.NewDirectory(dir))
	recorded, refused := publish(t, s), publish(t, s)
	if err := errors.Join(s.Remove(recorded.Name), s.Discard(refused.Name)); err != nil {
		t.Fatal(err)
	}
	stat(t, filepath.Join(dir, recorded.Name))
	if _, err := os.Stat(filepath.Join(dir, refused.Name)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it stays although its commit failed: %v", err)
	}
}

func TestAStartDeletesItsCopiesAndNothingElse(t *testing.T) {
	dir, copies := sharedDir(t), t.TempDir()
	s, err := blob.OpenShared(copies, blob.NewDirectory(dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reach(t.Context(), mark); err != nil {
		t.Fatal(err)
	}
	b := publish(t, s)
	for _, name := range []string{"note.txt", b.Name + ".part"} {
		if err := os.WriteFile(filepath.Join(copies, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	if s, err = blob.OpenShared(copies, blob.NewDirectory(dir)); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if left, err := os.ReadDir(copies); err != nil || len(left) != 1 || left[0].Name() != "note.txt" {
		t.Errorf("left: %v, %v", left, err)
	}
	stat(t, filepath.Join(dir, b.Name))
}

// Tries that a hung file system had held up took the unfinished files of the next ones, which then
// found nothing to rename.
func TestTwoTriesToStoreAFileTookEachOthersPart(t *testing.T) {
	dir := sharedDir(t)
	place := blob.NewDirectory(dir)
	from, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	const size = 4 << 20
	if err := from.Truncate(size); err != nil {
		t.Fatal(err)
	}
	name, tries := strings.Repeat("a", 32), make(chan error)
	for range 8 {
		go func() { tries <- place.Put(t.Context(), name, from, size) }()
	}
	for range 8 {
		if err := <-tries; err != nil {
			t.Errorf("%v (%v)", err, errors.Unwrap(err))
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 || stat(t, filepath.Join(dir, name)).Size() != size {
		t.Errorf("the directory has %v, %v", entries, err)
	}
}

// A file that could not be stored was said to be gone, which no retry mends.
func TestAFileThatCouldNotBeStoredWasGone(t *testing.T) {
	dir := sharedDir(t)
	place := blob.NewDirectory(dir)
	from, err := os.Open(filepath.Join(dir, blob.Marker))
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	if err := place.Put(t.Context(), "missing/name", from, 1); !trouble(err) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Put: %v", err)
	}
	for what, err := range map[string]error{
		"Get":  place.Get(t.Context(), strings.Repeat("a", 32), io.Discard),
		"Copy": place.Copy(t.Context(), strings.Repeat("a", 32), strings.Repeat("b", 32)),
	} {
		if !errors.Is(err, fs.ErrNotExist) || trouble(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
}

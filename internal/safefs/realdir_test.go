//go:build unix

package safefs

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/longshore-bridge/longshore/internal/need"
)

// A group came up with the wrong directory: the file system that was mounted in the place of its own had the same
// device and inode, as a directory often has that takes the place of a deleted one.
func TestADirectoryWasTakenForTheOneWhoseNumberItGot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shared")
	anew := func() Lasting {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		id, err := LastingDir(dir)
		if again, err2 := RealDir(dir); err != nil || err2 != nil || again.born != id.born {
			t.Fatalf("%v, %v: %+v, %+v", err, err2, id, again)
		}
		return id
	}
	first := anew()
	if first.born == 0 {
		need.Lacking(t, "see when a directory was made")
	}
	again := false
	for range 2_000 { // those of one tick of the clock are the same; some file systems use no number again
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		now := anew()
		if again = again || now.Identity == first.Identity; again && now != first && now.Identity == first.Identity {
			return
		}
	}
	if again {
		t.Error("a new directory counts as the deleted one")
	}
}

// The kernel's way and the way without openat2 decide alike.
func TestNoLinkIsFollowedOnTheWayToADirectory(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "a/b/c"), 0o700),
		os.Symlink("a", filepath.Join(dir, "relative")),
		os.Symlink(filepath.Join(dir, "a/b"), filepath.Join(dir, "a/absolute")),
		os.Symlink("c", filepath.Join(dir, "a/b/last")),
		os.WriteFile(filepath.Join(dir, "a/file"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, open := range map[string]func(string) (int, error){"the system's": openRealDir, "walk": walkRealDir} {
		for rel, want := range map[string]bool{
			"": true, "a": true, "a/b/c": true,
			"relative": false, "relative/b/c": false, "a/absolute": false, "a/absolute/c": false, "a/b/last": false,
			"a/file": false, "a/file/x": false,
		} {
			path := filepath.Join(dir, rel)
			fd, err := open(path)
			if (err == nil) != want || err != nil && !errors.Is(err, syscall.ELOOP) && !errors.Is(err, syscall.ENOTDIR) {
				t.Errorf("%s: %q: %v", name, rel, err)
			}
			if err != nil {
				continue
			}
			f := os.NewFile(uintptr(fd), path)
			got, err := f.Stat()
			named, err2 := os.Lstat(path)
			if err != nil || err2 != nil || !os.SameFile(got, named) {
				t.Errorf("%s: %q: another directory: %v, %v", name, rel, err, err2)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
		if _, err := open(filepath.Join(dir, "none/x")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a missing directory: %v", name, err)
		}
	}
	if root, err := walkRealDir("/"); err != nil {
		t.Error(err)
	} else if err := syscall.Close(root); err != nil {
		t.Error(err)
	}
}

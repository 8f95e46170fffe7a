//go:build unix

package safefs

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

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

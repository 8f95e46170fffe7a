package safefs

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Identity distinguishes two files as long as neither is deleted.
type Identity struct{ dev, ino uint64 }

// Lasting is the Identity of a directory, and when it was made: a new directory often gets the number of one that
// was deleted, and a file system that is mounted the device of one that was unmounted.
type Lasting struct {
	Identity
	born int64 // ns; 0: the file system does not know it
}

func IdentityOf(path string) (Identity, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return Identity{}, false
	}
	return Identify(info)
}

// LookAt returns the identity of what has a path, a link's own, and when it was last changed in
// nanoseconds. It makes no FileInfo: thousands of paths are looked at in turn.
func LookAt(path string) (id Identity, modified int64, err error) {
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		return Identity{}, 0, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	return Identity{uint64(stat.Dev), stat.Ino}, stat.Mtim.Nano(), nil //nolint:unconvert // narrower elsewhere
}

func Identify(info fs.FileInfo) (Identity, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Identity{}, false
	}
	return Identity{uint64(stat.Dev), stat.Ino}, true //nolint:unconvert // narrower elsewhere
}

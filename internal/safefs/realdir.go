//go:build unix

package safefs

import (
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// RealDir identifies the directory at path, which is absolute, without following
// any link on the way: an assistant may have put one there since the path was
// resolved. The error is ELOOP or ENOTDIR if there is a link.
func RealDir(path string) (Lasting, error) { return lasting(path, openRealDir) }

// LastingDir identifies the directory at path. Only a link at its end is refused.
func LastingDir(path string) (Lasting, error) {
	return lasting(path, func(path string) (int, error) {
		return OpenAt(unix.AT_FDCWD, path, LookFlags|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	})
}

func lasting(path string, open func(string) (int, error)) (Lasting, error) {
	dir, err := open(path)
	if err != nil {
		return Lasting{}, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = unix.Close(dir) }()
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil {
		return Lasting{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return Lasting{Identity{uint64(st.Dev), st.Ino}, born(dir)}, nil //nolint:unconvert // narrower elsewhere
}

// walkRealDir opens the directory at path, one component after the other, each
// below the open one before.
func walkRealDir(path string) (int, error) {
	fd, err := OpenAt(unix.AT_FDCWD, "/", LookFlags|unix.O_DIRECTORY)
	for part := range strings.SplitSeq(path, "/") {
		if err != nil {
			return -1, err
		}
		if part == "" {
			continue
		}
		var next int
		next, err = OpenAt(fd, part, LookFlags|unix.O_DIRECTORY|unix.O_NOFOLLOW)
		_ = unix.Close(fd)
		fd = next
	}
	return fd, err
}

// OpenAt is openat(2), repeated if a signal interrupts it.
func OpenAt(dir int, name string, flags int) (int, error) {
	for {
		if fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC, 0); !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

//go:build unix

package safefs

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// RealDir describes the directory at path, which is absolute, without following
// any link on the way: an assistant may have put one there since the path was
// resolved. The error is ELOOP or ENOTDIR if there is a link.
func RealDir(path string) (fs.FileInfo, error) {
	dir, err := openRealDir(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = dir.Close() }()
	return dir.Stat()
}

// walkRealDir opens the directory at path, one component after the other, each
// below the open one before.
func walkRealDir(path string) (*os.File, error) {
	fd, err := OpenAt(unix.AT_FDCWD, "/", LookFlags|unix.O_DIRECTORY)
	for part := range strings.SplitSeq(path, "/") {
		if err != nil {
			return nil, err
		}
		if part == "" {
			continue
		}
		var next int
		next, err = OpenAt(fd, part, LookFlags|unix.O_DIRECTORY|unix.O_NOFOLLOW)
		_ = unix.Close(fd)
		fd = next
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// OpenAt is openat(2), repeated if a signal interrupts it.
func OpenAt(dir int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

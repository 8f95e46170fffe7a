package safefs

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// Readable returns an error if this process may not read a file, or may not list or enter a
// directory. It follows links: the caller has seen what stands there. The error is ENOTDIR if
// a directory is wanted and something else stands there.
func Readable(path string, dir bool) error { return access(path, unix.R_OK, dir) }

// Writable is Readable, and says also whether the file or directory may be changed.
func Writable(path string, dir bool) error { return access(path, unix.R_OK|unix.W_OK, dir) }

func access(path string, mode uint32, dir bool) error {
	at := path
	if dir {
		mode, at = mode|unix.X_OK, asDir(path)
	}
	err := unix.Faccessat(unix.AT_FDCWD, at, mode, unix.AT_EACCESS)
	if err == nil && mode&unix.W_OK != 0 && immutable(at) { // Faccessat takes EPERM for a sandbox's, and goes by the mode
		err = unix.EPERM
	}
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return nil
}

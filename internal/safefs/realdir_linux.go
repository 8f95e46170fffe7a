package safefs

import (
	"errors"

	"golang.org/x/sys/unix"
)

// LookFlags open a file only to examine it: this has no effect on a pipe or
// device, and needs no right on the file itself.
const LookFlags = unix.O_PATH

// openRealDir lets the kernel refuse links. Kernels before Linux 5.6 have no
// openat2, and some sandboxes refuse it.
func openRealDir(path string) (int, error) {
	how := unix.OpenHow{
		Flags:   LookFlags | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
		switch {
		case err == nil:
			return fd, nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
			return walkRealDir(path)
		}
		return -1, err
	}
}

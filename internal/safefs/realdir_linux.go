package safefs

import (
	"errors"
	"time"

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

// immutable reports whether nobody may change what has a path, whatever its mode says: chattr(1).
func immutable(path string) bool {
	var st unix.Statx_t
	return unix.Statx(unix.AT_FDCWD, path, 0, 0, &st) == nil && st.Attributes&unix.STATX_ATTR_IMMUTABLE != 0
}

// born is when the open file was made, in ns; 0 if its file system does not know that.
func born(fd int) int64 {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &st); err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return st.Btime.Sec*int64(time.Second) + int64(st.Btime.Nsec)
}

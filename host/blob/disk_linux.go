package blob

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

func stampOf(f *os.File) (stamp, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return stamp{}, fmt.Errorf("stat a file: %w", err)
	}
	return stamp{st.Size, time.Unix(st.Ctim.Unix()), time.Unix(st.Mtim.Unix())}, nil
}

// takeLease takes a read lease on f, see F_SETLEASE in fcntl(2). It is granted if nobody
// has f open for writing, not even by a memory mapping. Until dropLease, an open for
// writing waits, for /proc/sys/fs/lease-break-time seconds at most. writer reports that
// somebody else has f open for writing. With neither, the kernel grants no lease: f is
// another user's and the host is not root, the file system has none, or f itself is open
// for writing.
func takeLease(f *os.File) (granted, writer bool) {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if !errors.Is(err, unix.EAGAIN) {
		return err == nil, false
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return false, err == nil && flags&unix.O_ACCMODE == unix.O_RDONLY
}

// dropLease gives a lease back. What fails here ends when f is closed.
func dropLease(f *os.File) {
	_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
}

// reflink makes dst share src's blocks, if the file system can do that (Btrfs,
// XFS and a few more). It returns how much of dst that filled: everything or
// nothing.
func reflink(dst, src *os.File, size int64) (int64, error) {
	if unix.IoctlFileClone(int(dst.Fd()), int(src.Fd())) != nil {
		return 0, nil
	}
	st, err := dst.Stat()
	if err != nil {
		return 0, fmt.Errorf("stat a file: %w", err)
	}
	if st.Size() != size {
		return 0, ErrChanged
	}
	return size, nil
}

// copyRange copies at most n bytes at the same offset inside the kernel. It
// copies through memory if the kernel cannot: between file systems, and from
// files that report no bytes to copy_file_range although they have some.
func copyRange(dst, src *os.File, at, n int64) (int64, error) {
	from, to := at, at
	for {
		copied, err := unix.CopyFileRange(int(src.Fd()), &from, int(dst.Fd()), &to, int(n), 0)
		switch {
		case err == nil && copied > 0:
			return int64(copied), nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EIO), errors.Is(err, unix.EDQUOT):
			return 0, os.NewSyscallError("copy_file_range", err)
		}
		return copyPlain(dst, src, at, n)
	}
}

// startWriteback makes the disk start writing during the copy, so that the sync
// at the end is short. It is only a hint.
func startWriteback(f *os.File, at, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), at, n, unix.SYNC_FILE_RANGE_WRITE)
}

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

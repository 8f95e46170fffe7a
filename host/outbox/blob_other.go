//go:build unix && !linux

package outbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// stampOf has only the time of modification in portable form.
func stampOf(f *os.File) (stamp, error) {
	st, err := f.Stat()
	if err != nil {
		return stamp{}, fmt.Errorf("stat a file: %w", err)
	}
	return stamp{st.Size(), st.ModTime(), st.ModTime()}, nil
}

func reflink(_, _ *os.File, _ int64) (int64, error) { return 0, nil }

func copyRange(dst, src *os.File, at, n int64) (int64, error) { return copyPlain(dst, src, at, n) }

func startWriteback(*os.File, int64, int64) {}

// freeSpace is how many bytes the directory's file system still takes.
func freeSpace(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, os.NewSyscallError("statfs", err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

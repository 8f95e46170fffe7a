package inbound

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

func owner(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

func exchange(a, b string) {
	unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

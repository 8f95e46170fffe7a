package store

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// LockHolder returns the process that has locked a file for writing, by flock(2) or fcntl(2), by the
// kernel's table of locks, proc_locks(5). It is 0 if there is none, or none that is visible. proc is the
// mount point of procfs.
func LockHolder(proc, path string) int {
	fi, err := os.Stat(path)
	if err != nil {
		return 0
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	table, err := os.ReadFile(proc + "/locks")
	if err != nil {
		return 0
	}
	// The table has the file system's own device number, which stat hides on
	// btrfs and overlayfs, so only the inode is compared.
	inode := ":" + strconv.FormatUint(st.Ino, 10)
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) >= 6 && f[3] == "WRITE" && strings.HasSuffix(f[5], inode) {
			pid, _ := strconv.Atoi(f[4])
			return pid
		}
	}
	return 0
}

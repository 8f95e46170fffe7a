package doctor

import (
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// clockSynchronized asks adjtimex(2), which changes nothing without a mode.
// known is false if the kernel does not answer.
func clockSynchronized() (synced, known bool) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return false, false
	}
	return state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0, true
}

// lockHolder returns the process that holds a flock(2) on a file, by the
// kernel's table of locks, proc_locks(5). It is 0 if there is none, or none
// that is visible.
func lockHolder(proc, path string) int {
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

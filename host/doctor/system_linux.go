package doctor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/internal/safefs"
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

// HostWithout returns the process of the host that runs by a configuration file although its lock is
// not in own any more, the directory that operator.ControlDir returns: somebody has moved or deleted
// the state. It is 0 if none is visible.
func HostWithout(proc, own, config string) int {
	lock := filepath.Join(own, "longshore.lock")
	want, _ := os.Stat(config)
	if _, err := os.Lstat(lock); !errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	procs, _ := filepath.Glob(filepath.Join(proc, "[0-9]*"))
	for _, dir := range procs {
		fds, _ := safefs.ReadDir(filepath.Join(dir, "fd"))
		for _, fd := range fds {
			target, _ := os.Readlink(filepath.Join(dir, "fd", fd.Name()))
			deleted := target == lock+" (deleted)"
			if deleted || filepath.Base(target) == "longshore.lock" && want != nil && slices.ContainsFunc(named(dir), func(fi os.FileInfo) bool { return os.SameFile(fi, want) }) {
				pid, _ := strconv.Atoi(filepath.Base(dir))
				return pid
			}
		}
	}
	return 0
}

// named are the files that the arguments of a process may name as its configuration.
func named(proc string) (all []os.FileInfo) {
	line, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
	cwd, _ := os.Readlink(filepath.Join(proc, "cwd"))
	for _, arg := range append(strings.Split(string(line), "\x00"), "longshore.yaml") {
		arg = strings.TrimPrefix(arg, "--config=")
		if !filepath.IsAbs(arg) {
			arg = filepath.Join(cwd, arg)
		}
		if fi, err := os.Stat(arg); err == nil && fi.Mode().IsRegular() {
			all = append(all, fi)
		}
	}
	return all
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

package doctor

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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

// limits returns how many files this process may open, and how large it may write one, in bytes. Go has raised the
// first to what it may be raised to.
func limits() (files, size uint64) {
	var nofile, fsize unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &nofile) != nil || unix.Getrlimit(unix.RLIMIT_FSIZE, &fsize) != nil {
		return math.MaxUint64, math.MaxUint64
	}
	return nofile.Cur, fsize.Cur
}

// HostWithout returns the process of the host that runs by a configuration file although its lock is
// not in own any more, the directory that operator.ControlDir returns: somebody has moved or deleted
// the state. It is 0 if none is visible.
func HostWithout(proc, own, config string) (pid int) {
	lock := filepath.Join(own, lockName)
	if _, err := os.Lstat(lock); !errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	eachLock(proc, func(process, target string) bool {
		if target == lock+" (deleted)" || runsBy(process, target, config) {
			pid, _ = strconv.Atoi(filepath.Base(process))
		}
		return pid > 0
	})
	return pid
}

// OwnOf returns the directory of the control socket of the host that runs by a configuration file, whatever that says
// now; empty if none is visible. Any user may start a process that looks like a host: it counts only if it is
// of the user who asks, of root, or of the file's owner.
func OwnOf(proc, config string) (own string) {
	trusted := []int{0, os.Geteuid()}
	if fi, err := os.Stat(config); err == nil {
		if uid, ok := safefs.UID(fi); ok {
			trusted = append(trusted, uid)
		}
	}
	eachLock(proc, func(process, target string) bool {
		fi, err := os.Stat(process)
		if err != nil {
			return false
		}
		if uid, ok := safefs.UID(fi); ok && slices.Contains(trusted, uid) && runsBy(process, target, config) {
			own = filepath.Dir(target)
		}
		return own != ""
	})
	return own
}

const lockName = "longshore.lock"

func runsBy(process, target, config string) bool {
	want, err := os.Stat(config)
	return err == nil && filepath.Base(target) == lockName && slices.ContainsFunc(named(process), func(fi os.FileInfo) bool { return os.SameFile(fi, want) })
}

// eachLock calls see with each visible process that has a lock of a host open, and the lock, until it returns true.
func eachLock(proc string, see func(process, target string) bool) {
	procs, _ := filepath.Glob(filepath.Join(proc, "[0-9]*"))
	for _, process := range procs {
		fds, _ := safefs.ReadDir(filepath.Join(process, "fd"))
		for _, fd := range fds {
			target, _ := os.Readlink(filepath.Join(process, "fd", fd.Name()))
			if strings.HasPrefix(filepath.Base(target), lockName) && see(process, target) {
				return
			}
		}
	}
}

// named are the files that the arguments of a process may name as its configuration.
func named(proc string) (all []os.FileInfo) {
	line, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
	cwd, _ := os.Readlink(filepath.Join(proc, "cwd"))
	see := func(arg string) {
		if arg = strings.TrimPrefix(arg, "--config="); !filepath.IsAbs(arg) {
			arg = filepath.Join(cwd, arg)
		}
		if fi, err := os.Stat(arg); err == nil && fi.Mode().IsRegular() {
			all = append(all, fi)
		}
	}
	for _, arg := range strings.Split(string(line), "\x00")[1:] {
		see(arg)
	}
	if len(all) == 0 {
		see("longshore.yaml")
	}
	return all
}

package confine

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// TestMain is also the hostile program: "hostile NAME ARG…" does what a parser
// does that a file has taken over. A hostile program prints "done" if it could
// do harm, and the reason if not.
func TestMain(m *testing.M) {
	Child()
	if len(os.Args) > 2 && os.Args[1] == "filtered" { // by system calls alone
		runtime.LockOSThread()
		if err := errors.Join(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), restrictCalls()); err != nil {
			panic(err)
		}
	}
	if len(os.Args) > 2 && (os.Args[1] == "hostile" || os.Args[1] == "filtered") {
		if err := hostile[os.Args[2]](os.Args[3:]); err != nil {
			fmt.Println(err)
		} else {
			fmt.Println("done")
		}
		syscall.Exit(0) // os.Exit lets the race detector wait for a second
	}
	if len(os.Args) > 2 && os.Args[1] == "parent" {
		parent(os.Args[2], os.Args[3:])
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

var hostile = map[string]func(args []string) error{
	"read":     func(args []string) error { _, err := os.ReadFile(args[0]); return err },
	"list":     func(args []string) error { _, err := os.ReadDir(args[0]); return err },
	"write":    func(args []string) error { return os.WriteFile(args[0], []byte("x"), 0o600) },
	"truncate": func(args []string) error { return os.Truncate(args[0], 0) },
	"chmod":    func(args []string) error { return os.Chmod(args[0], 0o777) },
	"remove":   func(args []string) error { return os.Remove(args[0]) },
	"cut": func([]string) error { // the input, which the program may open for reading
		f, err := os.OpenFile("/dev/stdin", os.O_RDONLY|os.O_TRUNC, 0)
		if err == nil {
			_ = f.Close()
		}
		return err
	},
	"connect": func(args []string) error {
		conn, err := net.Dial(args[0], args[1])
		if err == nil {
			_ = conn.Close()
		}
		return err
	},
	"fork":   func([]string) error { return exec.Command("/proc/self/exe", "-test.run=^$").Start() },
	"signal": func(args []string) error { return kill(args[0], syscall.SIGKILL) },
	"limit": func(args []string) error { // another process's
		pid, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: 3}, nil)
	},
	"owner": func(args []string) error { // of a file, who gets signals for it
		pid, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		_, err = unix.FcntlInt(1, unix.F_SETOWN, pid)
		return err
	},
	"lease": func([]string) error { _, err := unix.FcntlInt(0, unix.F_SETLEASE, unix.F_RDLCK); return err },
	"watch": func([]string) error { _, err := unix.InotifyInit1(0); return err },
	"allocate": func([]string) error {
		_, err := unix.Mmap(-1, 0, 8<<30, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		return err
	},
	"threads": func([]string) error {
		for range 1000 { // the runtime ends the process if it can make no further thread
			go func() { runtime.LockOSThread(); select {} }()
		}
		runtime.Gosched()
		var ts unix.Timespec
		ts.Sec = 3
		return unix.Nanosleep(&ts, nil)
	},
	"files": func([]string) error {
		for range 1000 {
			if _, err := unix.Dup(0); err != nil {
				return err
			}
		}
		return nil
	},
	"memfile": func([]string) error { // a file without a place, in memory
		fd, err := unix.MemfdCreate("x", 0)
		if err != nil {
			return err
		}
		_, err = unix.Write(fd, make([]byte, 1<<20))
		return err
	},
	"spin": func([]string) error {
		for {
		}
	}, //nolint:revive
	"talk": func([]string) error {
		for {
			fmt.Println(strings.Repeat("y", 1000))
		}
	},
	"sleep": func([]string) error { return unix.Pause() },
	"environment": func([]string) error {
		if got := strings.Join(os.Environ(), " "); got != "PATH=/usr/bin:/bin LC_ALL=C" {
			return nil
		}
		return fmt.Errorf("clean")
	},
	"descriptors": func([]string) error {
		for fd := 3; fd < 60; fd++ {
			var st unix.Stat_t
			if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
				return nil
			}
		}
		return fmt.Errorf("none")
	},
	"inherited": func([]string) error { // of the host's own starter
		b := make([]byte, 100)
		n, err := unix.Pread(9, b, 0)
		if err == nil && string(b[:n]) != "secret" {
			return fmt.Errorf("it reads %q", b[:n])
		}
		return err
	},
	"root": func([]string) error {
		groups, err := os.Getgroups()
		if err != nil || os.Getuid() == 0 || os.Getgid() == 0 || syscall.Setuid(0) == nil {
			return err
		}
		if os.Getuid() == unusedUsers[0] && len(groups) > 0 {
			return nil
		}
		return fmt.Errorf("user")
	},
	"copy": func([]string) error { // no harm: what a tool is for
		f, err := os.Open("/dev/stdin")
		if err != nil {
			return err
		}
		_, err = io.Copy(os.Stdout, f)
		return err
	},
}

func kill(pid string, sig syscall.Signal) error {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return err
	}
	return syscall.Kill(n, sig)
}

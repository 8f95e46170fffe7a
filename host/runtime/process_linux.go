package runtime

import (
	"bytes"
	"errors"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// childAttributes puts the child into a process group of its own, so that
// signals reach the whole group, and makes the kernel kill the child when the
// host dies.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// keepDescriptors closes every descriptor except the standard three when the
// child starts its program. Go opens none that would stay open, but the program
// that started the host, or a library in another language, may have (as in
// CVE-2024-21626). Kernels before 5.11 do not know the call; then nothing
// changes.
func keepDescriptors() { _ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) }

// reap waits for the child to end, calls killAll while the child's process id
// cannot be reused yet, and then collects the child.
func reap(cmd *exec.Cmd, killAll func()) error {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	killAll()
	return cmd.Wait()
}

// killMarked kills the processes whose environment contains all marks. A mark
// that ends in "=" matches any value. It repeats while it finds processes, as
// they may fork meanwhile, but at most 20 times.
func killMarked(marks ...string) {
	for range 20 {
		if !killMarkedOnce(marks) {
			return
		}
	}
}

func killMarkedOnce(marks []string) (found bool) {
	names, err := readNames("/proc")
	if err != nil {
		return false
	}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		found = killIfMarked(pid, marks) || found
	}
	return found
}

// killIfMarked opens the process before it examines it, so that the signal
// cannot reach another process that has got the same id meanwhile.
func killIfMarked(pid int, marks []string) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil || !holdsAll(env, marks) {
		return false
	}
	return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
}

func holdsAll(env []byte, marks []string) bool {
	vars := bytes.Split(env, []byte{0})
	for _, mark := range marks {
		any := strings.HasSuffix(mark, "=")
		if !slices.ContainsFunc(vars, func(v []byte) bool {
			return string(v) == mark || any && bytes.HasPrefix(v, []byte(mark))
		}) {
			return false
		}
	}
	return true
}

func readNames(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// exitUnconfined is the exit status of the hidden process if it could not
// become the program.
const exitUnconfined = 126

// Child becomes the confined program if Run started this process for that; then
// it does not return. Main functions call it first.
//
// In every process, Child first keeps the descriptors that it was started with to this
// process: a shell or a supervisor may have left some open, and no program that is
// started from here inherits them. The three standard ones are passed on.
func Child() {
	kept := keepDescriptors()
	if len(os.Args) == 3 && os.Args[1] == probeArg {
		os.Exit(probeInside(os.Args[2]))
	}
	if len(os.Args) != 3 || os.Args[1] != Arg {
		return
	}
	err := kept
	if err == nil {
		err = become(os.Args[2])
	}
	fmt.Fprintln(os.Stderr, "confine:", err)
	os.Exit(exitUnconfined)
}

// keepDescriptors has every descriptor that is open, but the three standard ones, closed
// when this process becomes another program or starts one.
func keepDescriptors() error {
	const first = 3
	if unix.CloseRange(first, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return nil
	}
	open, err := os.ReadDir("/proc/self/fd") // an older kernel, or a filter of system calls
	if err != nil {
		return fmt.Errorf("pass no descriptors on: %w", err)
	}
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= first {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// become drops this thread's rights and executes the program on it. The exec
// ends the other threads.
func become(text string) error {
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	var s spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return fmt.Errorf("read the program's description: %w", err)
	}
	if os.Getuid() == 0 || os.Geteuid() == 0 {
		return errors.New("the process still runs as root")
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("gain no privileges: %w", err)
	}
	if err := restrictFiles(s); err != nil {
		return err
	}
	if err := restrictCalls(); err != nil {
		return err
	}
	return s.exec()
}

// limit is a resource and its bound.
type limit struct {
	resource int
	most     uint64
}

func (s spec) limits() []limit {
	all := []limit{
		{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_FSIZE, uint64(s.Result)}, {unix.RLIMIT_MEMLOCK, 0}, {unix.RLIMIT_MSGQUEUE, 0},
		{unix.RLIMIT_CPU, uint64(s.Limits.CPU)}, {unix.RLIMIT_NOFILE, uint64(s.Limits.Files)},
	}
	if s.Threads {
		all = append(all, limit{unix.RLIMIT_NPROC, uint64(s.Limits.Threads)})
	}
	return append(all, limit{unix.RLIMIT_AS, uint64(s.Limits.Memory)})
}

// exec sets the limits and becomes the program. After the first limit, this
// process may lack the memory and the threads that Go's scheduler needs, so no
// call after it wakes the scheduler.
func (s spec) exec() error {
	path, err := syscall.BytePtrFromString(s.Program)
	if err != nil {
		return fmt.Errorf("name the program: %w", err)
	}
	argv, err := syscall.SlicePtrFromStrings(append([]string{s.Program}, s.Args...))
	if err != nil {
		return fmt.Errorf("name the program's arguments: %w", err)
	}
	envv, err := syscall.SlicePtrFromStrings(os.Environ())
	if err != nil {
		return fmt.Errorf("name the program's environment: %w", err)
	}
	for _, l := range s.limits() {
		bound := unix.Rlimit{Cur: l.most, Max: l.most}
		if _, _, errno := unix.RawSyscall6(unix.SYS_PRLIMIT64, 0, uintptr(l.resource), uintptr(unsafe.Pointer(&bound)), 0, 0, 0); errno != 0 {
			return fmt.Errorf("set limit %d: %w", l.resource, errno)
		}
	}
	_, _, errno := unix.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&envv[0])))
	return fmt.Errorf("execute %q: %w", s.Program, errno)
}

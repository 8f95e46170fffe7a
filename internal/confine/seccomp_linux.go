//go:build amd64 || arm64

package confine

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forbidden are the calls that no parser of a file needs, on every processor.
// They fail with EPERM. No version of Landlock covers them.
var forbidden = []uint32{
	// the network, and other processes' messages
	unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4,
	unix.SYS_IO_URING_SETUP, unix.SYS_MQ_OPEN, unix.SYS_SHMGET, unix.SYS_SEMGET, unix.SYS_MSGGET,
	// other processes
	unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_SEND_SIGNAL,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP,
	unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETPARAM,
	unix.SYS_SCHED_SETSCHEDULER, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
	// changes that a file's owner may make without opening the file
	unix.SYS_TRUNCATE, unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_INOTIFY_INIT1, unix.SYS_FANOTIFY_INIT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR,
	// the kernel
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_KEYCTL, unix.SYS_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_OPEN_BY_HANDLE_AT,
}

// absent are the calls that a C library can replace if the kernel lacks them
// (ENOSYS): a filter cannot examine their arguments.
var absent = []uint32{unix.SYS_CLONE3, unix.SYS_OPENAT2}

// Offsets in struct seccomp_data (linux/seccomp.h), whose arguments have eight
// bytes each, the lower half first.
const (
	dataCall = 0
	dataArch = 4
	dataArgs = 16
)

const (
	retAllow = unix.SECCOMP_RET_ALLOW
	retKill  = unix.SECCOMP_RET_KILL_PROCESS
	retPerm  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	retNoSys = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// filter is a classic BPF program that decides about a system call.
type filter []unix.SockFilter

func (f *filter) add(code uint16, k uint32, yes, no uint8) {
	*f = append(*f, unix.SockFilter{Code: code, Jt: yes, Jf: no, K: k})
}

func (f *filter) load(offset uint32) { f.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }
func (f *filter) ret(what uint32)    { f.add(unix.BPF_RET|unix.BPF_K, what, 0, 0) }

// on returns answer if k is loaded, for example as the number of a call.
func (f *filter) on(k, answer uint32) {
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, 0, 1)
	f.ret(answer)
}

// unless forbids a call unless its argument passes the test: BPF_JEQ means
// equal to k, BPF_JSET means that it has a bit of k.
func (f *filter) unless(call uint32, arg uint32, test uint16, k uint32) {
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, call, 0, 4)
	f.load(dataArgs + 8*arg)
	f.add(unix.BPF_JMP|test|unix.BPF_K, k, 1, 0)
	f.ret(retPerm)
	f.ret(retAllow)
}

// except forbids a call whose argument has one of the values.
func (f *filter) except(call uint32, arg uint32, values ...uint32) {
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, call, 0, uint8(2+2*len(values)))
	f.load(dataArgs + 8*arg)
	for _, v := range values {
		f.on(v, retPerm)
	}
	f.ret(retAllow)
}

// with forbids a call whose argument has a bit of mask.
func (f *filter) with(call uint32, arg uint32, mask uint32) {
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, call, 0, 4)
	f.load(dataArgs + 8*arg)
	f.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, mask, 0, 1)
	f.ret(retPerm)
	f.ret(retAllow)
}

// callFilter returns the filter for the process with this id.
func callFilter(pid int) (f filter) {
	f.load(dataArch)
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, auditArch, 1, 0)
	f.ret(retKill) // the calls of another processor have other numbers
	f.load(dataCall)
	f.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, 1<<30, 0, 1) // so do those of x32
	f.ret(retKill)
	for _, call := range append(forbiddenHere(), forbidden...) {
		f.on(call, retPerm)
	}
	for _, call := range absent {
		f.on(call, retNoSys)
	}
	f.unless(unix.SYS_CLONE, 0, unix.BPF_JSET, unix.CLONE_THREAD) // a thread, no process
	f.unless(unix.SYS_TGKILL, 0, unix.BPF_JEQ, uint32(pid))       // abort(3) signals itself
	f.unless(unix.SYS_PRLIMIT64, 0, unix.BPF_JEQ, 0)
	// A file's owner gets a signal when something happens to the file; a lease stops other openers.
	f.except(unix.SYS_FCNTL, 1, unix.F_SETOWN, unix.F_SETOWN_EX, unix.F_SETSIG, unix.F_SETLEASE, unix.F_NOTIFY)
	f.with(unix.SYS_OPENAT, 2, unix.O_TRUNC) // O_RDONLY|O_TRUNC cuts the input off
	if call, arg, ok := openHere(); ok {
		f.with(call, arg, unix.O_TRUNC)
	}
	f.ret(retAllow)
	return f
}

// restrictCalls applies the filter to this thread.
func restrictCalls() error {
	f := callFilter(os.Getpid())
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(f)
	if errno != 0 {
		return fmt.Errorf("filter system calls: %w", errno)
	}
	return nil
}

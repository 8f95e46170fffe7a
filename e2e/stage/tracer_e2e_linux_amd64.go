//go:build e2e

package stage

import (
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tracer follows the threads of one process.
type tracer struct {
	Tracing
	pid     int
	calls   map[int]*call // by thread: those that have begun
	known   map[int]bool  // threads
	files   map[uint64]int
	last    int // file
	ended   int // operations
	counts  map[string]int
	mem     *os.File
	records *gob.Encoder
}

// call is a system call that has begun.
type call struct {
	nr   uint64
	args [6]uint64
	op   *Operation // nil: it changes nothing below Dir
	fd   int

	fails syscall.Errno // what the host gets instead of the call's result
}

// mainTracer is the tracer's process. It ends with 0 if it killed the host at the
// moment, or if the host ended by itself without one.
func mainTracer(spec string) int {
	runtime.LockOSThread()
	t := &tracer{calls: map[int]*call{}, known: map[int]bool{}, files: map[uint64]int{}, counts: map[string]int{}}
	err := json.Unmarshal([]byte(spec), &t.Tracing)
	if err == nil && t.Record != "" {
		var f *os.File
		if f, err = os.Create(t.Record); err == nil {
			defer f.Close()
			t.records = gob.NewEncoder(f)
		}
	}
	var killed bool
	if err == nil {
		killed, err = t.run()
	}
	if err == nil && t.Count != "" {
		text, _ := json.Marshal(t.counts)
		err = os.WriteFile(t.Count, text, 0o600)
	}
	if err == nil && t.Kill != nil && !killed {
		err = errors.New("the host never got there")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tracer:", err)
		return 1
	}
	return 0
}

// run starts the host and lets it go from stop to stop. SIGTERM is passed on.
func (t *tracer) run() (killed bool, err error) {
	host := exec.Command(os.Args[0], "serve", "-c", t.Config)
	host.Env = append(os.Environ(), ServeEnv+"=1", tracerEnv+"=")
	if t.Slack != "" {
		host.Env = append(os.Environ(), SlackEnv+"="+t.Slack, tracerEnv+"=")
	}
	host.Stderr = os.Stderr
	host.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := host.Start(); err != nil {
		return false, err
	}
	t.pid = host.Process.Pid
	var status unix.WaitStatus
	if _, err := unix.Wait4(t.pid, &status, unix.WALL, nil); err != nil {
		return false, err
	}
	if t.mem, err = os.Open(fmt.Sprintf("/proc/%d/mem", t.pid)); err != nil {
		return false, err
	}
	defer t.mem.Close()
	if err := unix.PtraceSetOptions(t.pid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL); err != nil {
		return false, err
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	go func() { _ = unix.Kill(t.pid, (<-end).(syscall.Signal)) }()
	t.known[t.pid] = true
	t.proceed(t.pid, 0)
	for {
		tid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return killed, err
		case status.Exited() || status.Signaled():
			if tid == t.pid {
				return killed, nil
			}
		case status.StopSignal() == unix.SIGTRAP|0x80:
			if t.stopped(tid) && !killed {
				killed = true
				_ = unix.Kill(t.pid, unix.SIGKILL)
			}
			t.proceed(tid, 0)
		case status.StopSignal() == unix.SIGTRAP || status.StopSignal() == unix.SIGSTOP && !t.known[tid]:
			t.known[tid] = true
			t.proceed(tid, 0)
		default:
			t.proceed(tid, status.StopSignal())
		}
	}
}

// proceed lets a thread run to its next system call. It may have been killed.
func (t *tracer) proceed(tid int, sig syscall.Signal) { _ = unix.PtraceSyscall(tid, int(sig)) }

// stopped looks at a thread that begins or ends a system call, and says whether this
// is the moment.
func (t *tracer) stopped(tid int) (kill bool) {
	var info struct {
		op     uint8
		_      [3]uint8
		arch   uint32
		ip, sp uint64
		nr     uint64 // at the end the result
		args   [6]uint64
	}
	const getSyscallInfo, begins, ends = 0x420e, 1, 2
	if _, _, e := unix.RawSyscall6(unix.SYS_PTRACE, getSyscallInfo, uintptr(tid), 88, uintptr(unsafe.Pointer(&info)), 0, 0); e != 0 {
		return false // killed
	}
	switch info.op {
	case begins:
		c := &call{nr: info.nr, args: info.args}
		c.op = t.begin(tid, c)
		t.calls[tid] = c
		if t.fails(c.op) {
			c.fails, c.op = t.Fail.Errno, nil
			t.registers(tid, func(r *unix.PtraceRegs) { r.Orig_rax = ^uint64(0) }) // no such call
			return false
		}
		return c.op != nil && t.hits(c.op, false)
	case ends:
		c := t.calls[tid]
		delete(t.calls, tid)
		if c != nil && c.fails != 0 {
			t.registers(tid, func(r *unix.PtraceRegs) { r.Rax = -uint64(c.fails) })
			return false
		}
		if result := int64(info.nr); c != nil && c.op != nil && result >= 0 {
			t.end(tid, c, result)
			return t.hits(c.op, true)
		}
	}
	return false
}

// fails counts the calls that the failure is about.
func (t *tracer) fails(o *Operation) bool {
	f := t.Fail
	if f == nil || o == nil || f.Kind != "" && f.Kind != o.Kind {
		return false
	}
	if match, _ := filepath.Match(f.Path, o.Path); f.Path != "" && !match {
		return false
	}
	f.Nth--
	return f.Nth <= 0 && f.Nth > -f.Times
}

// registers changes the registers of a thread that has stopped.
func (t *tracer) registers(tid int, change func(*unix.PtraceRegs)) {
	var r unix.PtraceRegs
	err := unix.PtraceGetRegs(tid, &r)
	if err == nil {
		change(&r)
		err = unix.PtraceSetRegs(tid, &r)
	}
	if err != nil && !errors.Is(err, unix.ESRCH) { // killed
		panic(err)
	}
}

// hits counts the operations of the moment's kind.
func (t *tracer) hits(o *Operation, after bool) bool {
	m := t.Kill
	if m == nil || m.After != after || m.Kind != "" && m.Kind != o.Kind {
		return false
	}
	if match, _ := filepath.Match(m.Path, o.Path); !match {
		return false
	}
	m.Nth--
	return m.Nth == 0
}

// begin says what a call is about to do; nil: nothing below Dir.
func (t *tracer) begin(tid int, c *call) *Operation {
	a := &c.args
	at := func(dir, name int) string { return t.path(tid, int32(a[dir]), t.text(a[name])) }
	named := func(kind, path string) *Operation { return t.below(&Operation{Kind: kind, Path: path}) }
	c.fd = int(int32(a[0]))
	switch c.nr {
	case unix.SYS_OPEN:
		return t.opening(t.path(tid, unix.AT_FDCWD, t.text(a[0])), a[1])
	case unix.SYS_OPENAT:
		return t.opening(at(0, 1), a[2])
	case unix.SYS_WRITE, unix.SYS_PWRITE64:
		return t.below(&Operation{Kind: "write", Path: t.ofFile(tid, c.fd)})
	case unix.SYS_COPY_FILE_RANGE:
		c.fd = int(int32(a[2]))
		return t.below(&Operation{Kind: "write", Path: t.ofFile(tid, c.fd)})
	case unix.SYS_SENDFILE:
		return t.below(&Operation{Kind: "write", Path: t.ofFile(tid, c.fd)})
	case unix.SYS_FTRUNCATE:
		return t.below(&Operation{Kind: "truncate", Path: t.ofFile(tid, c.fd), Offset: int64(a[1])})
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		return t.below(&Operation{Kind: "sync", Path: t.ofFile(tid, c.fd), Before: t.ended, Bare: c.nr == unix.SYS_FDATASYNC})
	case unix.SYS_RENAME:
		return t.moving("rename", t.path(tid, unix.AT_FDCWD, t.text(a[0])), t.path(tid, unix.AT_FDCWD, t.text(a[1])))
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2:
		return t.moving("rename", at(0, 1), at(2, 3))
	case unix.SYS_LINKAT:
		return t.moving("link", at(0, 1), at(2, 3))
	case unix.SYS_UNLINK, unix.SYS_RMDIR:
		return named("unlink", t.path(tid, unix.AT_FDCWD, t.text(a[0])))
	case unix.SYS_UNLINKAT:
		return named("unlink", at(0, 1))
	case unix.SYS_MKDIR:
		return named("mkdir", t.path(tid, unix.AT_FDCWD, t.text(a[0])))
	case unix.SYS_MKDIRAT:
		return named("mkdir", at(0, 1))
	case unix.SYS_INOTIFY_INIT1, unix.SYS_INOTIFY_ADD_WATCH:
		if t.Fail != nil && t.Fail.Kind == "watch" {
			return &Operation{Kind: "watch"}
		}
	case unix.SYS_LINK, unix.SYS_WRITEV, unix.SYS_PWRITEV, unix.SYS_FALLOCATE, unix.SYS_TRUNCATE:
		t.refuse(tid, c)
	}
	return nil
}

// refuse ends the test if the host uses a call on a file that the tracer does not know.
func (t *tracer) refuse(tid int, c *call) {
	if strings.HasPrefix(t.ofFile(tid, c.fd), t.Dir) {
		panic(fmt.Sprintf("the tracer does not know system call %d", c.nr))
	}
}

func (t *tracer) opening(path string, flags uint64) *Operation {
	_, err := os.Lstat(path)
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case missing && flags&unix.O_CREAT != 0:
		return t.below(&Operation{Kind: "create", Path: path})
	case !missing && flags&unix.O_TRUNC != 0:
		return t.below(&Operation{Kind: "truncate", Path: path, File: t.number(path)})
	}
	return nil
}

func (t *tracer) moving(kind, from, to string) *Operation {
	o := t.below(&Operation{Kind: kind, Path: to, File: t.number(from)})
	if o != nil {
		o.From = strings.TrimPrefix(from, t.Dir+"/")
	}
	return o
}

// below makes the path relative; nil if the operation is elsewhere.
func (t *tracer) below(o *Operation) *Operation {
	rel, ok := strings.CutPrefix(o.Path, t.Dir)
	if !ok || rel != "" && rel[0] != '/' || strings.HasSuffix(rel, "-shm") { // the latter is memory
		return nil
	}
	o.Path = strings.TrimPrefix(rel, "/")
	return o
}

// end completes and records what a call has done.
func (t *tracer) end(tid int, c *call, result int64) {
	o := c.op
	t.ended++
	t.counts[o.Kind]++
	switch o.Kind {
	case "create":
		o.File = t.fresh(tid, int(result))
	case "write":
		o.File, o.Data, o.Offset = t.number(t.descriptor(tid, c.fd)), make([]byte, result), int64(c.args[3])
		switch {
		case c.nr == unix.SYS_COPY_FILE_RANGE && c.args[3] != 0:
			o.Offset = t.int64(c.args[3]) - result
		case c.nr != unix.SYS_PWRITE64:
			o.Offset = t.offset(tid, c.fd) - result
		}
		if c.nr == unix.SYS_WRITE || c.nr == unix.SYS_PWRITE64 {
			_, _ = t.mem.ReadAt(o.Data, int64(c.args[1]))
		} else if f, err := os.Open(t.descriptor(tid, c.fd)); err == nil { // the kernel copied
			_, _ = f.ReadAt(o.Data, o.Offset)
			f.Close()
		}
	case "truncate", "sync":
		if o.File == 0 {
			o.File = t.number(t.descriptor(tid, c.fd))
		}
	}
	if t.records != nil {
		if err := t.records.Encode(o); err != nil {
			panic(err)
		}
	}
}

// fresh numbers a new file: its inode may have been another's.
func (t *tracer) fresh(tid, fd int) int {
	var st unix.Stat_t
	if unix.Stat(t.descriptor(tid, fd), &st) != nil {
		return 0
	}
	t.last++
	t.files[st.Ino] = t.last
	return t.last
}

// number is that of the file at a path; 0 for a directory.
func (t *tracer) number(path string) int {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil || st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return 0
	}
	if t.files[st.Ino] == 0 {
		t.last++
		t.files[st.Ino] = t.last
	}
	return t.files[st.Ino]
}

func (t *tracer) descriptor(tid, fd int) string { return fmt.Sprintf("/proc/%d/fd/%d", tid, fd) }

func (t *tracer) ofFile(tid, fd int) string {
	path, _ := os.Readlink(t.descriptor(tid, fd))
	return path
}

func (t *tracer) offset(tid, fd int) (pos int64) {
	info, _ := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", tid, fd))
	_, _ = fmt.Sscanf(string(info), "pos:\t%d", &pos)
	return pos
}

// path makes a path absolute.
func (t *tracer) path(tid int, dir int32, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	base, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", tid))
	if dir != unix.AT_FDCWD {
		base = t.ofFile(tid, int(dir))
	}
	return filepath.Join(base, name)
}

func (t *tracer) int64(at uint64) int64 {
	b := make([]byte, 8)
	_, _ = t.mem.ReadAt(b, int64(at))
	return int64(binary.NativeEndian.Uint64(b))
}

// text reads a C string of the host.
func (t *tracer) text(at uint64) string {
	b := make([]byte, unix.PathMax)
	n, _ := t.mem.ReadAt(b, int64(at))
	s, _, _ := strings.Cut(string(b[:n]), "\x00")
	return s
}

//go:build e2e

package stage

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Clock sets the clock of one process, and of no other: the code that the kernel maps
// into a process to tell it the time is replaced by some that adds a number of seconds to
// the wall clock. The monotonic clock stays, as it does when an operator or NTP sets a
// machine's clock. Two things differ from that: the kernel still gives files their times by
// the machine's clock, and so do the programs that the host starts.
type Clock struct {
	mem    *os.File
	offset int64 // where in mem the number of seconds is
}

// wallClock asks the kernel for the time, and adds the number of seconds that stands behind
// it if the wall clock was asked for.
var wallClock = []byte{
	0xb8, 0xe4, 0x00, 0x00, 0x00, // mov eax, clock_gettime
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi
	0x75, 0x0c, // jne ret
	0x48, 0x8b, 0x05, 0x06, 0x00, 0x00, 0x00, // mov rax, [rip+6]
	0x48, 0x01, 0x06, // add [rsi], rax
	0x31, 0xc0, // xor eax, eax
	0xc3, // ret
}

// StartWith starts a program whose clock is ahead by so much.
func StartWith(cmd *exec.Cmd, ahead time.Duration) (*Clock, error) {
	type answer struct {
		c   *Clock
		err error
	}
	started := make(chan answer)
	go func() { // the thread that starts a program under ptrace has to let it go, too
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true} // it stops before its first instruction
		var a answer
		if a.err = cmd.Start(); a.err == nil {
			var status unix.WaitStatus
			if _, a.err = unix.Wait4(cmd.Process.Pid, &status, 0, nil); a.err == nil {
				if a.c, a.err = clockOf(cmd.Process.Pid); a.err == nil {
					a.err = a.c.Set(ahead)
				}
			}
			if err := unix.PtraceDetach(cmd.Process.Pid); a.err == nil {
				a.err = err
			}
		}
		started <- a
	}()
	a := <-started
	return a.c, a.err
}

func clockOf(pid int) (*Clock, error) {
	start, end, err := vDSO(pid)
	if err != nil {
		return nil, err
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	image, err := elf.NewFile(io.NewSectionReader(mem, start, end-start))
	if err != nil {
		return nil, err
	}
	all, err := image.DynamicSymbols()
	if err != nil {
		return nil, err
	}
	code := end - 64 // the last page is not full
	rest := make([]byte, 64)
	if _, err := mem.ReadAt(rest, code); err != nil || len(bytes.Trim(rest, "\x00")) > 0 {
		return nil, fmt.Errorf("no room in the vDSO: %w", err)
	}
	for _, s := range all {
		if s.Name != "__vdso_clock_gettime" {
			continue
		}
		at := start + int64(s.Value)
		jump := binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(code-(at+5)))
		_, err := mem.WriteAt(wallClock, code)
		if err == nil {
			_, err = mem.WriteAt(jump, at)
		}
		return &Clock{mem, code + int64(len(wallClock))}, err
	}
	return nil, fmt.Errorf("the vDSO does not tell the time")
}

// Set sets the clock, also while the program runs.
func (c *Clock) Set(ahead time.Duration) error {
	_, err := c.mem.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(int64(ahead/time.Second))), c.offset)
	return err
}

// Close lets go of the process, whose clock stays as it is.
func (c *Clock) Close() { _ = c.mem.Close() }

// vDSO is where the kernel's code lies in a process.
func vDSO(pid int) (start, end int64, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(strings.TrimSpace(line), "[vdso]") {
			_, err = fmt.Sscanf(line, "%x-%x", &start, &end)
		}
	}
	if err == nil && start == 0 {
		err = errors.New("the process has no vDSO")
	}
	return start, end, err
}

// ClockOf is the clock of a program that runs. It stops the program for a moment, in which no thread may be within
// the code that it replaces.
func ClockOf(pid int) (c *Clock, err error) {
	start, end, err := vDSO(pid)
	if err != nil {
		return nil, err
	}
	for {
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			return nil, fmt.Errorf("stop the process: %w", err)
		}
		still := outside(pid, start, end)
		if still {
			c, err = clockOf(pid)
		}
		_ = unix.Kill(pid, unix.SIGCONT)
		if still {
			return c, err
		}
	}
}

// outside reports whether all threads of a process have stopped, and none within a piece of its memory.
func outside(pid int, start, end int64) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, one := range threads {
		stat, _ := os.ReadFile(filepath.Join(one, "stat"))
		at, _ := os.ReadFile(filepath.Join(one, "syscall")) // ends with the instruction's address
		fields := strings.Fields(string(at))
		if !bytes.Contains(stat, []byte(") T ")) || len(fields) < 2 {
			return false
		}
		if pc, err := strconv.ParseInt(fields[len(fields)-1], 0, 64); err != nil || pc >= start && pc < end {
			return false
		}
	}
	return len(threads) > 0
}

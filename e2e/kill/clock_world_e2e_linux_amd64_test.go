//go:build e2e

package kill

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/e2e/stage"
)

// hostClock sets the clock of one process, and of no other: the code that the kernel maps
// into a process to tell it the time is replaced by some that adds a number of seconds to
// the wall clock. The monotonic clock stays, as it does when an operator or NTP sets a
// machine's clock. Two things differ from that: the kernel still gives files their times by
// the machine's clock, and so do the programs that the host starts.
type hostClock struct {
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

// startWith starts a program whose clock is ahead by so much.
func startWith(cmd *exec.Cmd, ahead time.Duration) (*hostClock, error) {
	type answer struct {
		c   *hostClock
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
					a.err = a.c.set(ahead)
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

func clockOf(pid int) (*hostClock, error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	var start, end int64
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(strings.TrimSpace(line), "[vdso]") {
			_, err = fmt.Sscanf(line, "%x-%x", &start, &end)
		}
	}
	if err != nil || start == 0 {
		return nil, fmt.Errorf("the process has no vDSO: %w", err)
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
		return &hostClock{mem, code + int64(len(wallClock))}, err
	}
	return nil, fmt.Errorf("the vDSO does not tell the time")
}

// set sets the clock, also while the program runs.
func (c *hostClock) set(ahead time.Duration) error {
	_, err := c.mem.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(int64(ahead/time.Second))), c.offset)
	return err
}

func (c *hostClock) close() { _ = c.mem.Close() }

// TestTheClockOfOneProcessCanBeSet: else the tests of set clocks would prove nothing.
func TestTheClockOfOneProcessCanBeSet(t *testing.T) {
	if os.Getenv(clockEnv) != "" {
		for range 2 {
			fmt.Println(time.Now().UnixMilli())
			_, _ = os.Stdin.Read(make([]byte, 1))
		}
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "TheClockOfOneProcess")
	cmd.Env = append(os.Environ(), clockEnv+"=1")
	in, err := cmd.StdinPipe()
	stage.Must(t, err)
	out, err := cmd.StdoutPipe()
	stage.Must(t, err)
	c, err := startWith(cmd, 24*time.Hour)
	stage.Must(t, err)
	defer c.close()
	shows := func() time.Duration {
		var ms int64
		_, err := fmt.Fscan(out, &ms)
		stage.Must(t, err)
		return time.Until(time.UnixMilli(ms)).Round(time.Hour)
	}
	first := shows()
	stage.Must(t, c.set(-48*time.Hour))
	_, err = in.Write([]byte{1})
	stage.Must(t, err)
	second := shows()
	stage.Must(t, in.Close())
	_, _ = io.Copy(io.Discard, out)
	stage.Must(t, cmd.Wait())
	if first != 24*time.Hour || second != -48*time.Hour {
		t.Errorf("its clock is ahead by %v, then by %v", first, second)
	}
}

const clockEnv = "LONGSHORE_TEST_CLOCK"

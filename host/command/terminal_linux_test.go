package command

import (
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hangGuard ends a test whose program does not end.
const hangGuard = 2 * time.Minute

// keyboard is a person at a pseudo terminal: types, and reads what a program prints there.
type keyboard struct {
	t    testing.TB
	own  *os.File // the person's end
	tty  *os.File // the program's end
	said []byte   // since the last expect
	all  []byte
}

func newKeyboard(t testing.TB) *keyboard {
	t.Helper()
	own, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminal can be made here: %v", err)
	}
	k := &keyboard{t: t, own: own}
	t.Cleanup(k.hangUp)
	var n int
	k.control(own, func(fd int) error {
		if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		n, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		return err
	})
	if k.tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Skipf("no pseudo terminal can be opened here: %v", err)
	}
	if err := own.SetReadDeadline(time.Now().Add(hangGuard)); err != nil {
		t.Fatal(err)
	}
	return k
}

// control calls do with a file's descriptor, without which reads of own could not be ended.
func (k *keyboard) control(f *os.File, do func(fd int) error) {
	k.t.Helper()
	raw, err := f.SyscallConn()
	if err != nil {
		k.t.Fatal(err)
	}
	var done error
	if err := raw.Control(func(fd uintptr) { done = do(int(fd)) }); err != nil || done != nil {
		k.t.Fatal(err, done)
	}
}

// echoes reports whether the terminal shows what is typed.
func (k *keyboard) echoes() (shown bool) {
	k.t.Helper()
	k.control(k.own, func(fd int) error {
		now, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		shown = err == nil && now.Lflag&unix.ECHO != 0
		return err
	})
	return shown
}

func (k *keyboard) types(text string) {
	k.t.Helper()
	if _, err := k.own.WriteString(text); err != nil {
		k.t.Fatal(err)
	}
}

// read reads more of what the program prints; false: its end of the terminal is closed.
func (k *keyboard) read() bool {
	k.t.Helper()
	b := make([]byte, 4096)
	n, err := k.own.Read(b)
	k.said, k.all = append(k.said, b[:n]...), append(k.all, b[:n]...)
	if os.IsTimeout(err) {
		k.t.Fatalf("the program waits, and prints no more. It said:\n%s", k.all)
	}
	return err == nil
}

// expect reads until the program has printed what matches, and returns that; empty: it
// has closed its end of the terminal before.
func (k *keyboard) expect(what *regexp.Regexp) string {
	k.t.Helper()
	for {
		if at := what.FindIndex(k.said); at != nil {
			match := string(k.said[at[0]:at[1]])
			k.said = k.said[at[1]:]
			return match
		}
		if !k.read() {
			return ""
		}
	}
}

// hangUp closes both ends. It may be called again.
func (k *keyboard) hangUp() {
	k.own.Close()
	if k.tty != nil {
		k.tty.Close()
	}
}

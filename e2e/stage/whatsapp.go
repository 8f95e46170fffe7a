package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/types"
	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

const (
	OurNumber  = "4915550000000"
	AnnaNumber = "4915550000001"
)

// serving is a host process.
type serving struct {
	h   *Harbour
	Cmd *exec.Cmd
}

// Serve starts a host and waits until it is connected.
func (h *Harbour) Serve() *serving {
	h.T.Helper()
	cmd := h.Command("serve")
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		h.T.Fatal(err)
	}
	h.T.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if h.T.Failed() {
			h.T.Logf("the host's log:\n%s", log.String())
		}
	})
	if err := h.Srv.Await(Soon(h.T), h.Phone.Online); err != nil {
		h.T.Fatalf("the host did not connect: %v", err)
	}
	return &serving{h, cmd}
}

func (s *serving) Stop() {
	s.h.T.Helper()
	s.Cmd.Process.Signal(syscall.SIGTERM)
	if err := s.Cmd.Wait(); err != nil {
		s.h.T.Errorf("the host ended with %v", err)
	}
}

// WhatsAppEnv makes this test binary the longshore program with its WhatsApp
// on loopback, at the address that it holds. The released program has no such
// switch.
const WhatsAppEnv = "LONGSHORE_TEST_WHATSAPP"

// Harbour is a WhatsApp with one group of two: the account that our host is
// linked to, and Anna with a client of her own.
type Harbour struct {
	T     testing.TB
	Srv   *whatsapptest.Server
	Phone *whatsapptest.Phone
	Anna  *whatsapptest.Member
	Group types.JID
	Dir   string
}

var trustOnce sync.Once

// NewHarbour is HarbourWith with nothing added.
func NewHarbour(t testing.TB) *Harbour {
	return HarbourWith(t, "", "assistant: sample, gather: {after: 0s}")
}

// TrustWhatsApp makes this process trust the loopback server.
func TrustWhatsApp(t testing.TB) {
	t.Helper()
	trustOnce.Do(func() {
		if err := whatsapptest.TrustRoot(whatsapptest.Root()); err != nil {
			t.Fatal(err)
		}
	})
}

// HarbourWith has something below "whatsapp:" and in the group's entry.
func HarbourWith(t testing.TB, whatsapp, group string) *Harbour {
	t.Helper()
	TrustWhatsApp(t)
	srv := whatsapptest.New(whatsapptest.Options{FewKeys: true})
	t.Cleanup(srv.Close)
	h := &Harbour{T: t, Srv: srv, Phone: srv.AddPhone(OurNumber, "Harbour office"), Dir: t.TempDir()}
	h.Anna = srv.NewMember(t, AnnaNumber, "Anna")
	h.Group = srv.AddGroup(whatsapptest.Group{Subject: "Harbour crew", Members: []string{AnnaNumber, OurNumber}})
	config := fmt.Sprintf("channels: {whatsapp: %s}\nassistants: {sample: {agent: sample}}\nlimits: {free_disk: 1MB}\n"+
		"groups:\n  - {name: Crew, folder: crew, chat: %q, %s}\n", whatsapp, h.Group, group)
	if err := os.WriteFile(filepath.Join(h.Dir, "longshore.yaml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	return h
}

// Command is the longshore program in the harbour's directory.
func (h *Harbour) Command(args ...string) *exec.Cmd {
	h.T.Helper()
	exe, err := os.Executable()
	if err != nil {
		h.T.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Dir = h.Dir
	cmd.Env = append(os.Environ(), h.Env()...)
	return cmd
}

// Env are the variables of a longshore program whose WhatsApp is this one.
func (h *Harbour) Env() []string {
	// Under the race detector the library races with itself at times, as .ci/race
	// says; that is not to be this process's exit code.
	return []string{WhatsAppEnv + "=" + h.Srv.Addr(), "GORACE=exitcode=0"}
}

func (h *Harbour) Run(args ...string) string {
	h.T.Helper()
	out, err := h.Command(args...).CombinedOutput()
	if err != nil {
		h.T.Fatalf("longshore %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Soon bounds what a test waits for.
func Soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Link pairs the host by the code that is typed into the phone.
func (h *Harbour) Link() {
	h.T.Helper()
	term := h.Terminal(80, 24, "pair", "whatsapp", "--phone", "+"+OurNumber)
	code := term.Await(regexp.MustCompile(`[0-9A-Z]{4}-[0-9A-Z]{4}`))
	if _, err := h.Phone.EnterCode(Soon(h.T), code); err != nil {
		h.T.Fatal(err)
	}
	term.Await(regexp.MustCompile(`linked to ` + OurNumber))
	term.Ended()
}

// terminal is a command in a pseudo-terminal.
type terminal struct {
	t    testing.TB
	cmd  *exec.Cmd
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
	eof  chan struct{}
}

func (h *Harbour) Terminal(columns, rows int, args ...string) *terminal {
	h.T.Helper()
	master, slave := openPTY(h.T, columns, rows)
	cmd := h.Command(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	if err := cmd.Start(); err != nil {
		h.T.Fatal(err)
	}
	slave.Close()
	term := &terminal{t: h.T, cmd: cmd, more: make(chan struct{}, 1), eof: make(chan struct{})}
	go func() {
		defer close(term.eof)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			term.mu.Lock()
			term.text.Write(bytes.ReplaceAll(buf[:n], []byte("\r\n"), []byte("\n")))
			term.mu.Unlock()
			select {
			case term.more <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	h.T.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		master.Close()
		<-term.eof
	})
	return term
}

func (term *terminal) Screen() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.text.String()
}

// Await returns what the terminal shows of the expression, once it does.
func (term *terminal) Await(want *regexp.Regexp) string {
	term.t.Helper()
	for deadline := time.After(time.Minute); ; {
		if found := want.FindString(term.Screen()); found != "" {
			return found
		}
		select {
		case <-term.more:
		case <-deadline:
			term.t.Fatalf("the terminal never showed %v:\n%s", want, term.Screen())
		}
	}
}

// Ended waits for the command's end, which is to be a good one.
func (term *terminal) Ended() {
	term.t.Helper()
	if err := term.cmd.Wait(); err != nil {
		term.t.Fatalf("%v:\n%s", err, term.Screen())
	}
}

func openPTY(t testing.TB, columns, rows int) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := master.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var number int
	var ioErr error
	err = raw.Control(func(fd uintptr) {
		if ioErr = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); ioErr == nil {
			number, ioErr = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
		if ioErr == nil {
			ioErr = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(columns), Row: uint16(rows)})
		}
	})
	if err = errors.Join(err, ioErr); err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

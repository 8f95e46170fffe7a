package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/types"
	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/host/channel/slack"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

// whatsappEnv makes this test binary the longshore program with its WhatsApp
// on loopback, at the address that it holds. The released program has no such
// switch.
const whatsappEnv = "LONGSHORE_TEST_WHATSAPP"

func mainOnLoopback(run mainFunc, addr string) int {
	if err := whatsapptest.TrustRoot(whatsapptest.Root()); err != nil {
		panic(err)
	}
	return run("", platformsOver(whatsapp.Net{Client: whatsapptest.ClientFor(addr), Lookup: whatsapptest.Lookup}, slack.Net{}), os.Args[1:])
}

// harbour is a WhatsApp with one group of two: the account that our host is
// linked to, and Anna with a client of her own.
type harbour struct {
	t     testing.TB
	srv   *whatsapptest.Server
	phone *whatsapptest.Phone
	anna  *whatsapptest.Member
	group types.JID
	dir   string
}

var trustOnce sync.Once

func newHarbour(t testing.TB) *harbour {
	return harbourWith(t, "", "assistant: sample, gather: {after: 0s}")
}

// trustWhatsApp makes this process trust the loopback server.
func trustWhatsApp(t testing.TB) {
	t.Helper()
	trustOnce.Do(func() {
		if err := whatsapptest.TrustRoot(whatsapptest.Root()); err != nil {
			t.Fatal(err)
		}
	})
}

// harbourWith has something below "whatsapp:" and in the group's entry.
func harbourWith(t testing.TB, whatsapp, group string) *harbour {
	t.Helper()
	trustWhatsApp(t)
	srv := whatsapptest.New(whatsapptest.Options{FewKeys: true})
	t.Cleanup(srv.Close)
	h := &harbour{t: t, srv: srv, phone: srv.AddPhone(ourNumber, "Harbour office"), dir: t.TempDir()}
	h.anna = srv.NewMember(t, annaNumber, "Anna")
	h.group = srv.AddGroup(whatsapptest.Group{Subject: "Harbour crew", Members: []string{annaNumber, ourNumber}})
	config := fmt.Sprintf("channels: {whatsapp: %s}\nassistants: {sample: {agent: sample}}\nlimits: {free_disk: 1MB}\n"+
		"groups:\n  - {name: Crew, folder: crew, chat: %q, %s}\n", whatsapp, h.group, group)
	if err := os.WriteFile(filepath.Join(h.dir, "longshore.yaml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	return h
}

// command is the longshore program in the harbour's directory.
func (h *harbour) command(args ...string) *exec.Cmd {
	h.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Dir = h.dir
	// Under the race detector the library races with itself at times, as .ci/race
	// says; that is not to be this process's exit code.
	cmd.Env = append(os.Environ(), whatsappEnv+"="+h.srv.Addr(), "GORACE=exitcode=0")
	return cmd
}

func (h *harbour) run(args ...string) string {
	h.t.Helper()
	out, err := h.command(args...).CombinedOutput()
	if err != nil {
		h.t.Fatalf("longshore %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// soon bounds what a test waits for.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// link pairs the host by the code that is typed into the phone.
func (h *harbour) link() {
	h.t.Helper()
	term := h.terminal(80, 24, "pair", "whatsapp", "--phone", "+"+ourNumber)
	code := term.await(regexp.MustCompile(`[0-9A-Z]{4}-[0-9A-Z]{4}`))
	if _, err := h.phone.EnterCode(soon(h.t), code); err != nil {
		h.t.Fatal(err)
	}
	term.await(regexp.MustCompile(`linked to ` + ourNumber))
	term.ended()
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

func (h *harbour) terminal(columns, rows int, args ...string) *terminal {
	h.t.Helper()
	master, slave := openPTY(h.t, columns, rows)
	cmd := h.command(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	slave.Close()
	term := &terminal{t: h.t, cmd: cmd, more: make(chan struct{}, 1), eof: make(chan struct{})}
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
	h.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		master.Close()
		<-term.eof
	})
	return term
}

func (term *terminal) screen() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.text.String()
}

// await returns what the terminal shows of the expression, once it does.
func (term *terminal) await(want *regexp.Regexp) string {
	term.t.Helper()
	for deadline := time.After(time.Minute); ; {
		if found := want.FindString(term.screen()); found != "" {
			return found
		}
		select {
		case <-term.more:
		case <-deadline:
			term.t.Fatalf("the terminal never showed %v:\n%s", want, term.screen())
		}
	}
}

// ended waits for the command's end, which is to be a good one.
func (term *terminal) ended() {
	term.t.Helper()
	if err := term.cmd.Wait(); err != nil {
		term.t.Fatalf("%v:\n%s", err, term.screen())
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

// scanned reads a QR code off a picture with a scanner of somebody else's.
func scanned(t *testing.T, picture []byte) string {
	t.Helper()
	if _, err := exec.LookPath("zbarimg"); err != nil {
		if os.Getenv("LONGSHORE_TEST_ALL") != "" {
			t.Fatal("zbarimg is not installed")
		}
		t.Skip("zbarimg is not installed")
	}
	path := filepath.Join(t.TempDir(), "code.png")
	if err := os.WriteFile(path, picture, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("zbarimg", "--quiet", "--raw", path).Output()
	if err != nil {
		t.Fatalf("no code on the picture: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// photograph is the terminal's drawing of a code as a camera sees it: each
// character two blocks, one above the other, light on dark.
func photograph(t *testing.T, drawing []string) []byte {
	t.Helper()
	const block, margin = 6, 24
	width := 0
	for _, line := range drawing {
		width = max(width, len([]rune(line)))
	}
	img := image.NewGray(image.Rect(0, 0, width*block+2*margin, 2*len(drawing)*block+2*margin))
	for i := range img.Pix {
		img.Pix[i] = 255
	}
	for y, line := range drawing {
		for x, r := range []rune(line) {
			for half, light := range [2]bool{r == '█' || r == '▀', r == '█' || r == '▄'} {
				if light {
					continue
				}
				for i := range block * block {
					img.SetGray(margin+x*block+i%block, margin+(2*y+half)*block+i/block, color.Gray{})
				}
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

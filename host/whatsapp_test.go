package main

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
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/host/channel/channeltest/browser"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

// whatsappEnv makes this test binary the longshore program with its WhatsApp
// on loopback, at the address that it holds. The released program has no such
// switch.
const whatsappEnv = "LONGSHORE_TEST_WHATSAPP"

func mainOnLoopback(addr string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := whatsapptest.TrustRoot(whatsapptest.Root()); err != nil {
		panic(err)
	}
	e := &env{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, whatsapp: whatsapptest.ClientFor(addr)}
	return e.run(ctx, os.Args[1:])
}

const (
	ourNumber  = "4915550000000"
	annaNumber = "4915550000001"
)

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

func newHarbour(t testing.TB) *harbour { return harbourWith(t, "", "assistant: sample") }

// harbourWith has something below "whatsapp:" and in the group's entry.
func harbourWith(t testing.TB, whatsapp, group string) *harbour {
	t.Helper()
	trustOnce.Do(func() {
		if err := whatsapptest.TrustRoot(whatsapptest.Root()); err != nil {
			t.Fatal(err)
		}
	})
	srv := whatsapptest.New(whatsapptest.Options{})
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

func TestPairByTheCodeInTheTerminal(t *testing.T) {
	for _, columns := range []int{80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			h := newHarbour(t)
			term := h.terminal(columns, 60, "pair", "whatsapp", "--no-page")
			term.await(regexp.MustCompile(`it counts for`))
			var drawing []string
			for line := range strings.Lines(term.screen()) {
				if strings.ContainsAny(line, "█▀▄") {
					drawing = append(drawing, strings.TrimRight(line, "\n"))
				}
			}
			if _, err := h.phone.Scan(soon(t), scanned(t, photograph(t, drawing))); err != nil {
				t.Fatal(err)
			}
			term.await(regexp.MustCompile(`linked to ` + ourNumber))
			term.ended()
			if out, err := h.command("pair", "whatsapp", "--no-page").CombinedOutput(); err == nil || !strings.Contains(string(out), "linked already") {
				t.Errorf("a second time: %v\n%s", err, out)
			}
		})
	}
}

func TestANarrowTerminalPairsByThePage(t *testing.T) {
	b := browser.Start(t)
	h := newHarbour(t)
	term := h.terminal(40, 24, "pair", "whatsapp")
	address := term.await(regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+/[A-Z0-9]+/`))
	term.await(regexp.MustCompile(`open the page, or give --phone`))
	if strings.ContainsAny(term.screen(), "█▀▄") {
		t.Errorf("a code was drawn where it does not fit:\n%s", term.screen())
	}
	p := b.Open(address, browser.Screen{Width: 480, Height: 720})
	p.Wait(`document.querySelector("img")?.naturalWidth > 0 && /A new code in \d+ s/.test(document.getElementById("state").textContent)`)
	code := scanned(t, p.Shot("pair-page.png"))
	if _, err := h.phone.Scan(soon(t), code); err != nil {
		t.Fatal(err)
	}
	p.Wait(`document.getElementById("state").textContent.startsWith("Linked")`)
	p.Shot("pair-done.png")
	term.await(regexp.MustCompile(`linked to ` + ourNumber))
	term.ended()
}

func TestTheLinkedAccountsGroupsAreReadyToPaste(t *testing.T) {
	h := newHarbour(t)
	h.link()
	other := h.srv.AddGroup(whatsapptest.Group{Subject: "Book\x1b[31m club", Members: []string{annaNumber, ourNumber}})
	out := h.run("groups", "list", "--channel", "whatsapp")
	if !strings.Contains(out, h.group.String()) || !strings.Contains(out, "group crew") || !strings.Contains(out, other.String()) || strings.Contains(out, "\x1b") {
		t.Errorf("the list says\n%q", out)
	}
	h.run("groups", "add", other.String(), "--name", "Book club", "--assistant", "sample")
	h.run("config", "validate")

	host := h.serve() // and through the host that runs
	if out := h.run("groups", "list", "--channel", "whatsapp"); !strings.Contains(out, "group book-club") {
		t.Errorf("the host's list says\n%s", out)
	}
	h.run("unpair", "whatsapp")
	if n := len(h.phone.Devices()); n != 0 {
		t.Errorf("the phone still lists %d devices", n)
	}
	h.link() // the host takes the next account up
	if err := h.srv.Await(soon(t), h.phone.Online); err != nil {
		t.Fatalf("the host did not connect to the next account: %v", err)
	}
	host.stop()
	h.run("unpair", "whatsapp")
	if n := len(h.phone.Devices()); n != 0 {
		t.Errorf("without a host: the phone still lists %d devices", n)
	}
}

// serving is a host process.
type serving struct {
	h   *harbour
	cmd *exec.Cmd
}

// serve starts a host and waits until it is connected.
func (h *harbour) serve() *serving {
	h.t.Helper()
	cmd := h.command("serve")
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if h.t.Failed() {
			h.t.Logf("the host's log:\n%s", log.String())
		}
	})
	if err := h.srv.Await(soon(h.t), h.phone.Online); err != nil {
		h.t.Fatalf("the host did not connect: %v", err)
	}
	return &serving{h, cmd}
}

func (s *serving) stop() {
	s.h.t.Helper()
	s.cmd.Process.Signal(syscall.SIGTERM)
	if err := s.cmd.Wait(); err != nil {
		s.h.t.Errorf("the host ended with %v", err)
	}
}

// report waits until Anna has the report's two files and the words, and
// compares the files with what the assistant wrote.
func (h *harbour) report() {
	h.t.Helper()
	files, words := 0, 0
	for files < 2 || words < 1 {
		m, err := h.anna.Next(soon(h.t))
		if err != nil {
			h.t.Fatalf("%d files and %d texts came: %v", files, words, err)
		}
		if doc, img := m.Message.GetDocumentMessage(), m.Message.GetImageMessage(); doc == nil && img == nil && m.Message.GetDocumentWithCaptionMessage() == nil {
			words++
			continue
		}
		files++
		got, err := h.anna.Fetch(soon(h.t), m.Message)
		if err != nil {
			h.t.Fatal(err)
		}
		if !h.wrote(got.SHA256) {
			h.t.Errorf("Anna holds a file that the assistant did not write: %v", m.Message)
		}
	}
}

// wrote says whether a file of that hash lies in the crew's workspace.
func (h *harbour) wrote(sum string) bool {
	found := false
	filepath.WalkDir(filepath.Join(h.dir, "state/groups/crew"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		s, err := sumOf(f)
		found = found || s == sum
		return err
	})
	return found
}

func TestAMemberOfTheWhatsAppGroupReceivesTheReport(t *testing.T) {
	h := newHarbour(t)
	h.link()
	host := h.serve()
	if _, err := h.anna.SendText(soon(t), h.group, "send me the report"); err != nil {
		t.Fatal(err)
	}
	h.report()
	host.stop()
}

func TestAPictureTooLargeForOneGoesAsADocumentAndTheResultSaysSo(t *testing.T) {
	h := harbourWith(t, "{files: {image: 1KB}}", "assistant: sample")
	h.link()
	host := h.serve()
	if _, err := h.anna.SendText(soon(t), h.group, "send me the report"); err != nil {
		t.Fatal(err)
	}
	h.report()
	for _, m := range h.anna.Messages() {
		if m.Message.GetImageMessage() != nil {
			t.Error("the chart came as a picture")
		}
	}
	host.stop()
	if out := h.run("queue", "list", "--all", "--json"); !strings.Contains(out, `"state": "sent"`) && !strings.Contains(out, `"state": "delivered"`) {
		t.Errorf("the queue says\n%s", out)
	}
	results, err := filepath.Glob(filepath.Join(h.dir, "state/ipc/crew/results/*.json"))
	if err != nil || len(results) != 1 {
		t.Fatalf("results %v, %v", results, err)
	}
	if b, err := os.ReadFile(results[0]); err != nil || !strings.Contains(string(b), "so it goes as a document") {
		t.Errorf("the result says %s, %v", b, err)
	}
}

func TestStatusAndDoctorSayThatTheAccountIsGone(t *testing.T) {
	h := newHarbour(t)
	h.link()
	host := h.serve()
	h.phone.Unlink()
	for deadline := soon(t); ; {
		out := h.run("status")
		if strings.Contains(out, "removed this device") && strings.Contains(out, "longshore pair whatsapp") {
			break
		}
		if deadline.Err() != nil {
			t.Fatalf("the status says\n%s", out)
		}
	}
	out, _ := h.command("doctor").CombinedOutput() // it may have found something else as well
	if !strings.Contains(string(out), "whatsapp is not connected: the WhatsApp account has removed this device") {
		t.Errorf("the doctor says\n%s", out)
	}
	host.stop()
}

// TestAKilledHostLosesAndRepeatsNothingOnWhatsApp kills the host while the
// report is on its way, at several moments, and starts it again.
func TestAKilledHostLosesAndRepeatsNothingOnWhatsApp(t *testing.T) {
	moments := map[string]whatsapptest.Fault{
		"while the file is uploaded":       {On: whatsapptest.OnUpload, Do: whatsapptest.Hold},
		"before the message is taken":      {On: whatsapptest.OnMessage, Do: whatsapptest.Hold, Kind: "media"},
		"before the acknowledgement comes": {On: whatsapptest.OnMessage, Do: whatsapptest.LoseAck, Kind: "media"},
	}
	for name, fault := range moments {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarbour(t)
			h.link()
			host := h.serve()
			fault.Phone = ourNumber
			if fault.On == whatsapptest.OnUpload {
				fault.Phone = ""
			}
			script := h.srv.Fail(fault)
			if _, err := h.anna.SendText(soon(t), h.group, "send me the report"); err != nil {
				t.Fatal(err)
			}
			select {
			case <-script.Hit():
			case <-soon(t).Done():
				t.Fatal("the fault never struck")
			}
			host.cmd.Process.Kill()
			host.cmd.Wait()
			script.Release()
			if err := h.srv.Await(soon(t), func() bool { return !h.phone.Online() }); err != nil {
				t.Fatal(err)
			}
			again := h.serve()
			h.files(2)
			again.stop()
			seen := map[string]int{}
			for _, m := range h.anna.Messages() {
				seen[m.Info.ID]++
			}
			for id, n := range seen {
				if n > 1 {
					t.Logf("%s came %d times with one id: the app shows it once", id, n)
				}
			}
			if ids := mediaIDs(h.anna.Messages()); len(ids) != 2 {
				t.Errorf("Anna sees %d files, not 2", len(ids))
			}
		})
	}
}

// files waits until Anna has seen n files of different ids.
func (h *harbour) files(n int) {
	h.t.Helper()
	for len(mediaIDs(h.anna.Messages())) < n {
		if _, err := h.anna.Next(soon(h.t)); err != nil {
			h.t.Fatalf("%d of %d files came: %v", len(mediaIDs(h.anna.Messages())), n, err)
		}
	}
}

func mediaIDs(messages []*events.Message) map[string]bool {
	ids := map[string]bool{}
	for _, m := range messages {
		if m.Message.GetDocumentMessage() != nil || m.Message.GetImageMessage() != nil || m.Message.GetDocumentWithCaptionMessage() != nil {
			ids[m.Info.ID] = true
		}
	}
	return ids
}

package command

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
	"github.com/longshore-bridge/longshore/internal/browsertest"
)

const (
	ourNumber  = "4915550000000"
	annaNumber = "4915550000001"
)

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
	b := browsertest.Start(t)
	h := newHarbour(t)
	term := h.terminal(40, 24, "pair", "whatsapp")
	address := term.await(regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+/[A-Z0-9]+/`))
	term.await(regexp.MustCompile(`open the page, or give --phone`))
	if strings.ContainsAny(term.screen(), "█▀▄") {
		t.Errorf("a code was drawn where it does not fit:\n%s", term.screen())
	}
	p := b.Open(address, browsertest.Screen{Width: 480, Height: 720})
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
	h := harbourWith(t, "{files: {image: 1KB}}", "assistant: sample, gather: {after: 0s}")
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
	t.Parallel()
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

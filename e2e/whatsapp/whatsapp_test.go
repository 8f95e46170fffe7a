package whatsapp

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

func TestPairByTheCodeInTheTerminal(t *testing.T) {
	for _, columns := range []int{80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			h := stage.NewHarbour(t)
			term := h.Terminal(columns, 60, "pair", "whatsapp", "--no-page")
			term.Await(regexp.MustCompile(`it counts for`))
			var drawing []string
			for line := range strings.Lines(term.Screen()) {
				if strings.ContainsAny(line, "█▀▄") {
					drawing = append(drawing, strings.TrimRight(line, "\n"))
				}
			}
			if _, err := h.Phone.Scan(stage.Soon(t), scanned(t, photograph(t, drawing))); err != nil {
				t.Fatal(err)
			}
			term.Await(regexp.MustCompile(`linked to ` + stage.OurNumber))
			term.Ended()
			if out, err := h.Command("pair", "whatsapp", "--no-page").CombinedOutput(); err == nil || !strings.Contains(string(out), "linked already") {
				t.Errorf("a second time: %v\n%s", err, out)
			}
		})
	}
}

func TestTheLinkedAccountsGroupsAreReadyToPaste(t *testing.T) {
	t.Parallel()
	h := stage.NewHarbour(t)
	h.Link()
	other := h.Srv.AddGroup(whatsapptest.Group{Subject: "Book\x1b[31m club", Members: []string{stage.AnnaNumber, stage.OurNumber}})
	out := h.Run("groups", "list", "--channel", "whatsapp")
	if !strings.Contains(out, h.Group.String()) || !strings.Contains(out, "group crew") || !strings.Contains(out, other.String()) || strings.Contains(out, "\x1b") {
		t.Errorf("the list says\n%q", out)
	}
	h.Run("groups", "add", other.String(), "--name", "Book club", "--assistant", "sample")
	h.Run("config", "validate")

	host := h.Serve() // and through the host that runs
	if out := h.Run("groups", "list", "--channel", "whatsapp"); !strings.Contains(out, "group book-club") {
		t.Errorf("the host's list says\n%s", out)
	}
	h.Run("unpair", "whatsapp")
	if n := len(h.Phone.Devices()); n != 0 {
		t.Errorf("the phone still lists %d devices", n)
	}
	h.Link() // the host takes the next account up
	if err := h.Srv.Await(stage.Soon(t), h.Phone.Online); err != nil {
		t.Fatalf("the host did not connect to the next account: %v", err)
	}
	host.Stop()
	h.Run("unpair", "whatsapp")
	if n := len(h.Phone.Devices()); n != 0 {
		t.Errorf("without a host: the phone still lists %d devices", n)
	}
}

// report waits until Anna has the report's two files and the words, and
// compares the files with what the assistant wrote.
func report(h *stage.Harbour) {
	h.T.Helper()
	files, words := 0, 0
	for files < 2 || words < 1 {
		m, err := h.Anna.Next(stage.Soon(h.T))
		if err != nil {
			h.T.Fatalf("%d files and %d texts came: %v", files, words, err)
		}
		if doc, img := m.Message.GetDocumentMessage(), m.Message.GetImageMessage(); doc == nil && img == nil && m.Message.GetDocumentWithCaptionMessage() == nil {
			words++
			continue
		}
		files++
		got, err := h.Anna.Fetch(stage.Soon(h.T), m.Message)
		if err != nil {
			h.T.Fatal(err)
		}
		if !wrote(h, got.SHA256) {
			h.T.Errorf("Anna holds a file that the assistant did not write: %v", m.Message)
		}
	}
}

// wrote says whether a file of that hash lies in the crew's workspace.
func wrote(h *stage.Harbour, sum string) bool {
	found := false
	filepath.WalkDir(filepath.Join(h.Dir, "state/groups/crew"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		s, err := stage.SumOf(f)
		found = found || s == sum
		return err
	})
	return found
}

func TestAMemberOfTheWhatsAppGroupReceivesTheReport(t *testing.T) {
	t.Parallel()
	h := stage.NewHarbour(t)
	h.Link()
	host := h.Serve()
	if _, err := h.Anna.SendText(stage.Soon(t), h.Group, "send me the report"); err != nil {
		t.Fatal(err)
	}
	report(h)
	host.Stop()
}

func TestAPictureTooLargeForOneGoesAsADocumentAndTheResultSaysSo(t *testing.T) {
	t.Parallel()
	h := stage.HarbourWith(t, "{files: {image: 1KB}}", "assistant: sample, gather: {after: 0s}")
	h.Link()
	host := h.Serve()
	if _, err := h.Anna.SendText(stage.Soon(t), h.Group, "send me the report"); err != nil {
		t.Fatal(err)
	}
	report(h)
	for _, m := range h.Anna.Messages() {
		if m.Message.GetImageMessage() != nil {
			t.Error("the chart came as a picture")
		}
	}
	host.Stop()
	if out := h.Run("queue", "list", "--all", "--json"); !strings.Contains(out, `"state": "sent"`) && !strings.Contains(out, `"state": "delivered"`) {
		t.Errorf("the queue says\n%s", out)
	}
	results, err := filepath.Glob(filepath.Join(h.Dir, "state/ipc/crew/results/*.json"))
	if err != nil || len(results) != 1 {
		t.Fatalf("results %v, %v", results, err)
	}
	if b, err := os.ReadFile(results[0]); err != nil || !strings.Contains(string(b), "so it goes as a document") {
		t.Errorf("the result says %s, %v", b, err)
	}
}

func TestStatusAndDoctorSayThatTheAccountIsGone(t *testing.T) {
	t.Parallel()
	h := stage.NewHarbour(t)
	h.Link()
	host := h.Serve()
	h.Phone.Unlink()
	for deadline := stage.Soon(t); ; {
		out := h.Run("status")
		if strings.Contains(out, "removed this device") && strings.Contains(out, "longshore pair whatsapp") {
			break
		}
		if deadline.Err() != nil {
			t.Fatalf("the status says\n%s", out)
		}
	}
	out, _ := h.Command("doctor").CombinedOutput() // it may have found something else as well
	if !strings.Contains(string(out), "whatsapp is not connected: the WhatsApp account has removed this device") {
		t.Errorf("the doctor says\n%s", out)
	}
	host.Stop()
}

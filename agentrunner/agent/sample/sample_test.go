package sample

import (
	"bytes"
	"encoding/csv"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
	"github.com/longshore-bridge/longshore/internal/need"
)

func someDay() time.Time { return time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC) }

// Offsets in a PDF must be exact: readers repair wrong ones or not, each as it
// likes.
func TestEveryObjectOfThePDFLiesWhereItsTableSays(t *testing.T) {
	doc := newReport(someDay()).pdf()
	startxref := regexp.MustCompile(`startxref\n(\d+)\n%%EOF\n$`).FindSubmatch(doc)
	if startxref == nil {
		t.Fatal("no startxref at the end")
	}
	table, err := strconv.Atoi(string(startxref[1]))
	if err != nil || !bytes.HasPrefix(doc[table:], []byte("xref\n0 8\n")) {
		t.Fatalf("no table at %d", table)
	}
	entries := regexp.MustCompile(`(\d{10}) 00000 n \n`).FindAllSubmatch(doc[table:], -1)
	if len(entries) != 7 {
		t.Fatalf("%d objects in the table", len(entries))
	}
	for i, entry := range entries {
		offset, err := strconv.Atoi(string(entry[1]))
		if err != nil || !bytes.HasPrefix(doc[offset:], []byte(strconv.Itoa(i+1)+" 0 obj\n")) {
			t.Errorf("object %d is not at %d", i+1, offset)
		}
	}
	stream := regexp.MustCompile(`(?s)/Length (\d+) >>\nstream\n(.*?)endstream`).FindSubmatch(doc)
	if stream == nil || strconv.Itoa(len(stream[2])) != string(stream[1]) {
		t.Error("the page's stream has another length than it says")
	}
}

func TestPDFOpensInAReader(t *testing.T) {
	for _, tool := range []string{"pdfinfo", "pdftotext", "pdftoppm"} {
		if out, err := exec.Command(tool, "-v").CombinedOutput(); err != nil {
			need.Lacking(t, "read a PDF by %s: %v %s", tool, err, out)
		}
	}
	path := filepath.Join(t.TempDir(), "report.pdf")
	if err := os.WriteFile(path, newReport(someDay()).pdf(), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		var stderr bytes.Buffer
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil || stderr.Len() > 0 {
			t.Fatalf("%q: %v: %s", args, err, stderr.Bytes())
		}
		return string(out)
	}
	if info := run("pdfinfo", path); !strings.Contains(info, "Title:           Harbour week") ||
		!strings.Contains(info, "Pages:           1\n") || !strings.Contains(info, "A4") {
		t.Errorf("pdfinfo says:\n%s", info)
	}
	text := run("pdftotext", "-layout", path, "-")
	for _, want := range []string{"Harbour week", "14 November to 20 November 2026", "Made 21 November 2026, 09:30",
		"Containers unloaded a day", "Wednesday, 18 November", "goal: 500"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not on the page:\n%s", want, text)
		}
	}
	page, err := png.Decode(strings.NewReader(run("pdftoppm", "-r", "50", "-png", path)))
	if err != nil {
		t.Fatal(err)
	}
	if r, g, b, _ := page.At(page.Bounds().Dx()/2, 10).RGBA(); b <= r || b <= g {
		t.Errorf("the page's head is not blue: %x %x %x", r, g, b)
	}
}

func TestChartIsAPictureWithBarsAndWords(t *testing.T) {
	data, err := newReport(someDay()).png()
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if b := img.Bounds(); b.Dx() != chartWidth || b.Dy() != chartHeight {
		t.Errorf("size %v", b)
	}
	blue, dark := 0, 0
	for y := range chartHeight {
		for x := range chartWidth {
			switch r, _, b, _ := img.At(x, y).RGBA(); {
			case b>>8 > 150 && r>>8 < 60:
				blue++
			case b>>8 < 90 && r>>8 < 60:
				dark++
			}
		}
	}
	if blue < 50_000 || dark < 2_000 {
		t.Errorf("%d blue pixels of bars, %d dark ones of words", blue, dark)
	}
}

func TestSentencesAreUnderstood(t *testing.T) {
	for message, want := range map[string][2]string{
		"help":                        {"help", ""},
		"@Andy help":                  {"help", ""},
		"@Andy send me the report":    {"send", "me the report"},
		"Hi @Andy, please Send a.pdf": {"send", "a.pdf"},
		"PING!":                       {"ping", ""},
		"say  hello there":            {"say", "hello there"},
		"@Andy":                       {"", ""},
		"":                            {"", ""},
	} {
		if verb, rest := command(message); verb != want[0] || rest != want[1] {
			t.Errorf("%q: %q %q, want %q", message, verb, rest, want)
		}
	}
	for text, want := range map[string]bool{"me the report": true, "me the report, please": true, "the weekly report!": true,
		"report.pdf": false, "the chart": false, "inbox/report": false, "": false} {
		if (object(text) == "report") != want {
			t.Errorf("%q is the report: %v", text, !want)
		}
	}
}

func TestEachSkillIsFoundByItsOwnWords(t *testing.T) {
	page, err := os.ReadFile("../../../docs/assistant-authors.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range skills() {
		if !bytes.Contains(page, []byte("`"+want.words+"`")) {
			t.Errorf("docs/assistant-authors.md does not list %q", want.words)
		}
		for _, words := range []string{want.words, "@Andy Hello! Could you please " + want.words + "?", strings.ToUpper(want.words) + "!"} {
			if s, _ := skillFor(command(words)); s == nil || s.words != want.words {
				t.Errorf("%q asks for %+v", words, s)
			}
		}
	}
	for _, words := range []string{"send chart.png", "show me the boat", "what do you see?", "say the report", "plan a party", ""} {
		if s, _ := skillFor(command(words)); s != nil {
			t.Errorf("%q asks for %q", words, s.words)
		}
	}
}

// Members' words about a file of theirs may name a skill: the file goes back all the same.
func TestANounBesideAFileIsNoOrder(t *testing.T) {
	for words, want := range map[string]bool{"Picture of the boat": false, "What can you see?": false, "chart": false, "Make a chart of it": true} {
		if s, ordered := skillFor(command(words)); s == nil || ordered != want {
			t.Errorf("%q: %+v, an order: %v", words, s, ordered)
		}
	}
}

func TestWhatItDoesNotKnowIsAnsweredWithWhatItCanDo(t *testing.T) {
	for _, prompt := range []string{"write me a poem", "send", "say", "@Andy help"} {
		reply, err := Agent{}.Turn(t.Context(), agent.Turn{Prompt: prompt})
		if err != nil {
			t.Errorf("%q: %v", prompt, err)
		}
		for _, s := range skills() {
			if !strings.Contains(reply.Text, "- **"+s.words+"**: "+s.comes+"\n") {
				t.Errorf("%q is answered without %q:\n%s", prompt, s.words, reply.Text)
			}
		}
	}
	for _, prompt := range []string{`<context timezone="UTC" />` + "\n<notice time=\"x\">a file arrived</notice>\n",
		`<context timezone="UTC" /><messages>` + "\n<event kind=\"reaction\" sender=\"Bob\" message=\"1\">👍</event>\n</messages>"} {
		if reply, err := (Agent{}).Turn(t.Context(), agent.Turn{Prompt: prompt}); err != nil || reply.Text != "" {
			t.Errorf("%q was answered by %q, %v", prompt, reply.Text, err)
		}
	}
}

func TestTheWelcomeFitsOnItsPageAndListsEachSkill(t *testing.T) {
	doc := string(welcome(skills(), someDay()))
	for _, s := range skills() {
		if !strings.Contains(doc, "("+s.words+") Tj") || !strings.Contains(doc, "("+s.comes+") Tj") {
			t.Errorf("the page lacks %q", s.words)
		}
		if width(s.comes, 11) > reader-222 {
			t.Errorf("%q is too long for the page", s.comes)
		}
	}
	if len(skills()) > 15 {
		t.Errorf("%d skills do not fit on one page", len(skills()))
	}
}

func TestTheTableAndTheCalendarHaveALineOrAnEventForEachDay(t *testing.T) {
	r := newReport(someDay())
	rows, err := csv.NewReader(bytes.NewReader(r.csv())).ReadAll()
	if err != nil || len(rows) != 8 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if diff := cmp.Diff([]string{"2026-11-14", "412", "3", "95"}, rows[1]); diff != "" {
		t.Error(diff)
	}
	plan := string(r.calendar())
	for _, line := range strings.Split(plan, "\n") {
		if line != "" && !strings.HasSuffix(line, "\r") || len(line) > 76 {
			t.Errorf("the line %q is none of iCalendar's", line)
		}
	}
	if n := strings.Count(plan, "BEGIN:VEVENT\r\n"); n != 7 || n != strings.Count(plan, "END:VEVENT\r\n") {
		t.Errorf("%d events", n)
	}
	for _, want := range []string{"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n", "DTSTAMP:20261121T093000Z\r\nDTSTART:20261122T060000\r\n", "UID:20261128@", "END:VEVENT\r\nEND:VCALENDAR\r\n"} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan lacks %q:\n%s", want, plan)
		}
	}
}

package screen

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestANameOfSlashesDoesNotOccupyTheScreen: an assistant makes names of nothing but slashes,
// and each was looked at from each of its parts on.
func TestANameOfSlashesDoesNotOccupyTheScreen(t *testing.T) {
	slashes := strings.Repeat("a/", maxName/2)
	for path, want := range map[string][]string{
		"":             {""},
		".env":         {".env"},
		"a/b/c":        {"c", "b/c", "a/b/c"},
		"/w/a/b/c.txt": {"c.txt", "b/c.txt", "a/b/c.txt"},
		slashes:        {"", "a/", "a/a/"},
	} {
		if diff := cmp.Diff(want, slices.Collect(endings(path))); diff != "" {
			t.Errorf("%.20q is looked at (-want +got):\n%s", path, diff)
		}
	}
	s, err := New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	header := dirHeader + strings.Repeat("\x00", 24) + "\x00\x10" + strings.Repeat("\x00", 16)
	content := strings.Repeat(header+slashes, 512)
	if err := s.Check(strings.NewReader(content), int64(len(content)), "a.zip"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{".ssh/a", "home/.SSH/a/b/c/d/e", "home/.ssh/a\nb"} {
		if err := s.Check(strings.NewReader("x"), 1, name); err == nil {
			t.Errorf("%q leaves", name)
		}
	}
}

func TestEveryBuiltInExpressionCompiles(t *testing.T) {
	for _, r := range BuiltIn() {
		for _, e := range []expression{r.name, r.ending, r.except, r.content} {
			if e != nil {
				e() // panics if it is none
			}
		}
	}
}

// TestAMarkWithNothingBesideItOccupiedTheScreen: for each of 160,000 marks, 8 KiB were searched for
// what stands beside it, and no step was counted.
func TestAMarkWithNothingBesideItOccupiedTheScreen(t *testing.T) {
	s, err := New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	const most = head + tail
	for _, r := range BuiltIn() {
		if r.beside == "" {
			continue
		}
		mark, far := r.marks[0], strings.Repeat(" ", 2*near)
		for _, line := range []string{mark, mark[:len(mark)-1], far + mark + far + r.beside, r.beside + far + mark, mark + ":1,"} {
			text := []byte(strings.Repeat(line, most/len(line)))
			if f := s.contents(text); f.crowded != nil || f.scanned > 2*most {
				t.Errorf("%s: %.20q: %d bytes searched, %d steps", r.Name, line, f.scanned, f.steps)
			}
		}
		secret := mark + `:"c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"`
		for text, want := range map[string]bool{
			r.beside + secret: true, secret + r.beside: true,
			r.beside + far + mark + far + secret + r.beside: true, r.beside + far + r.beside + secret: true,
			secret: false, r.beside + far + secret + far + r.beside: false,
		} {
			if got := s.Check(strings.NewReader(text), int64(len(text)), "a.json") != nil; got != want {
				t.Errorf("%s: %d bytes: refused: %v", r.Name, len(text), got)
			}
		}
	}
}

// TestOneRepeatedLineOccupiedTheScreen: 320 KiB of it took 1.2 s, as each mark was followed for
// 4 KiB.
func TestOneRepeatedLineOccupiedTheScreen(t *testing.T) {
	s, err := New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	fill := func(line string) []byte { return []byte(strings.Repeat(line, (head+tail)/len(line)+1)[:head+tail]) }
	lines := []string{
		"-----BEGIN PRIVATE KEY-----\nA: ", "-----BEGIN PRIVATE KEY-----\n\n\n", "-----BEGIN PRIVATE KEY-----\n# b\n", "-----BEGIN CERTIFICATE-----\nMIIB\n",
		`"auths" "auth":`, `"kty" "d": "`, "PuTTY-User-Key-File-3: a ", "SecretAccessKey" + strings.Repeat(" ", 8) + "=", "MT.MT.", "1:A", "sk-" + strings.Repeat("a", 31) + " ",
	}
	marks := ""
	for _, r := range BuiltIn() {
		marks += strings.Join(r.marks, " ") + " "
	}
	lines = append(lines, marks)
	for _, line := range lines {
		f := s.contents(fill(line))
		if f.steps > maxSteps+near {
			t.Errorf("%q: %d steps", line, f.steps)
		}
		if f.crowded == nil && f.steps > maxSteps {
			t.Errorf("%q: not refused after %d steps", line, f.steps)
		}
	}
	for _, harmless := range []string{"-----BEGIN CERTIFICATE-----\nMIIB\n", "hf_hub_download(x, gtk_widget_show, night)\n", "disk-usage of npm_config\n", "MTIz", "12:AM "} {
		if f := s.contents(fill(harmless)); f.crowded != nil {
			t.Errorf("%q: refused after %d steps", harmless, f.steps)
		}
	}
	text := fill("-----BEGIN PRIVATE KEY-----\nA: ")
	if err := s.Check(strings.NewReader(string(text)), int64(len(text)), "a.txt"); err == nil || !strings.Contains(err.Error(), "more beginnings of a private key") {
		t.Errorf("the refusal is %v", err)
	}
}

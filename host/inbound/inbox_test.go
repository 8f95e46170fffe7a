package inbound

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/groups"
)

// workspace is a group's directory beside something that must stay as it is.
func workspace(t *testing.T) (dir, outside string) {
	t.Helper()
	parent := t.TempDir()
	dir, outside = filepath.Join(parent, "family"), filepath.Join(parent, "host")
	for _, d := range []string{dir, outside} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	must(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("untouched"), 0o600))
	return dir, outside
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAMembersFileLandsInTheInbox(t *testing.T) {
	dir, _ := workspace(t)
	for _, want := range []string{"notes.txt", "notes-2.txt", "notes-3.txt"} {
		got, size, err := keepFile(dir, "notes.txt", 100, strings.NewReader(want))
		if err != nil || got != want || size != int64(len(want)) {
			t.Fatalf("got %q, %d, %v", got, size, err)
		}
		path := filepath.Join(dir, "inbox", got)
		info, err := os.Lstat(path)
		must(t, err)
		if info.Mode() != 0o644 {
			t.Errorf("%s has mode %v", got, info.Mode())
		}
		if content, _ := os.ReadFile(path); string(content) != want {
			t.Errorf("%s holds %q", got, content)
		}
		if uid, _ := groups.AgentUser(); owner(info) != uid {
			t.Errorf("%s belongs to %d, want %d", got, owner(info), uid)
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, "inbox"))
	must(t, err)
	if len(entries) != 3 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestWhatAnAgentPlantsIsNotFollowed(t *testing.T) {
	tests := map[string]struct {
		plant func(dir, outside string) error
		fails bool
	}{
		"the inbox is a link to outside": {func(dir, outside string) error {
			return os.Symlink(outside, filepath.Join(dir, "inbox"))
		}, true},
		"the inbox is a relative link to outside": {func(dir, _ string) error {
			return os.Symlink("../host", filepath.Join(dir, "inbox"))
		}, true},
		"the inbox is a link within": {func(dir, _ string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, "x"), 0o755), os.Symlink("x", filepath.Join(dir, "inbox")))
		}, true},
		"the inbox is a file": {func(dir, _ string) error {
			return os.WriteFile(filepath.Join(dir, "inbox"), nil, 0o644)
		}, true},
		"the workspace is a link": {func(dir, _ string) error {
			return errors.Join(os.Remove(dir), os.Symlink("host", dir))
		}, true},
		"the name is a link to a host's file": {func(dir, outside string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, "inbox"), 0o755),
				os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "inbox", "a.txt")))
		}, false},
		"the name is a dangling link to outside": {func(dir, outside string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, "inbox"), 0o755),
				os.Symlink(filepath.Join(outside, "new"), filepath.Join(dir, "inbox", "a.txt")))
		}, false},
		"the name is a directory": {func(dir, _ string) error {
			return os.MkdirAll(filepath.Join(dir, "inbox", "a.txt"), 0o755)
		}, false},
		"the name is the assistant's own file": {func(dir, _ string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, "inbox"), 0o755),
				os.WriteFile(filepath.Join(dir, "inbox", "a.txt"), []byte("own"), 0o644))
		}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir, outside := workspace(t)
			must(t, test.plant(dir, outside))
			got, _, err := keepFile(dir, "a.txt", 100, strings.NewReader("member's"))
			switch {
			case test.fails && err == nil:
				t.Errorf("kept as %q", got)
			case !test.fails && (err != nil || got != "a-2.txt"):
				t.Errorf("got %q, %v", got, err)
			}
			if err != nil && strings.Contains(reason(err), dir) {
				t.Errorf("the reason holds a host path: %q", reason(err))
			}
			if strings.HasPrefix(name, "the inbox is") && !strings.HasPrefix(reason(err), "inbox in the workspace is no directory; remove it") {
				t.Errorf("the reason is %q", reason(err))
			}
			entries, err := os.ReadDir(outside)
			must(t, err)
			secret, err := os.ReadFile(filepath.Join(outside, "secret"))
			must(t, err)
			if len(entries) != 1 || string(secret) != "untouched" {
				t.Errorf("outside holds %v, the secret is %q", entries, secret)
			}
		})
	}
}

// TestTheInboxRace exchanges the inbox with a link to outside while files are
// written to it: nothing may arrive there.
func TestTheInboxRace(t *testing.T) {
	dir, outside := workspace(t)
	inbox, link := filepath.Join(dir, "inbox"), filepath.Join(dir, "link")
	must(t, os.Mkdir(inbox, 0o755))
	must(t, os.Symlink("../host", link))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				exchange(inbox, link)
			}
		}
	}()
	kept := 0
	for range 2000 {
		if _, _, err := keepFile(dir, "a.txt", 100, strings.NewReader("x")); err == nil {
			kept++
		}
	}
	close(stop)
	<-stopped
	entries, err := os.ReadDir(outside)
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("%d files arrived outside", len(entries)-1)
	}
	if kept == 0 {
		t.Error("the race was never won by the host: nothing is proved")
	}
}

func TestAFileThatCannotBeKeptIsNamedWithTheReason(t *testing.T) {
	tests := map[string]struct {
		from io.Reader
		want string
	}{
		"too large":  {strings.NewReader(strings.Repeat("x", 101)), "files may have up to 100 bytes"},
		"breaks off": {io.MultiReader(strings.NewReader("x"), errorReader{}), "the host could not keep it; ask the member to send it again"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir, _ := workspace(t)
			_, _, err := keepFile(dir, "a.txt", 100, test.from)
			if err == nil || reason(err) != test.want {
				t.Errorf("got %v", err)
			}
			if entries, _ := os.ReadDir(filepath.Join(dir, "inbox")); len(entries) != 0 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}

type errorReader struct{}

func (errorReader) Read([]byte) (int, error) { return 0, errors.New("connection lost") }

var hostileNames = map[string]string{
	"report.pdf":              "report.pdf",
	"":                        "file",
	".":                       "file",
	"..":                      "file",
	"../../etc/passwd":        "passwd",
	"/etc/passwd":             "passwd",
	`C:\boot.ini`:             "boot.ini",
	".bashrc":                 "_.bashrc",
	"-rf":                     "_-rf",
	"~root":                   "_~root",
	"a\x00b\x1b[2J\n.txt":     "ab[2J .txt",
	"exe\u202egnp.scr":        "exegnp.scr",
	"Bericht über März.pdf":   "Bericht über März.pdf",
	"報告.pdf":                  "報告.pdf",
	"trailing. . ":            "trailing",
	"\xff\xfe.txt":            "__.txt",
	"CLAUDE.md":               "CLAUDE.md.txt", // or it would be obeyed
	" .agents.MD. ":           "_.agents.MD",
	"GEMINI\u200b.md":         "GEMINI.md.txt",
	"about CLAUDE.md":         "about CLAUDE.md",
	" \t ":                    "file",
	"a\u2028b.txt":            "a b.txt",
	"quote\"<x>|?*.txt":       "quote__x____.txt",
	"CON.txt":                 "_CON.txt",
	"....//....//x":           "_.__....__x",
	".incoming-fake":          "_.incoming-fake",
	"ends in slash/":          "ends in slash",
	"two  spaces\u00a0kept.x": "two spaces kept.x",
}

func TestHostileNames(t *testing.T) {
	for name, want := range hostileNames {
		if got := safeName(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
	long := safeName(strings.Repeat("ü", 300) + ".pdf")
	if len(long) > 200 || !strings.HasSuffix(long, "ü.pdf") {
		t.Errorf("the long name became %q", long)
	}
}

func FuzzSafeName(f *testing.F) {
	for name := range hostileNames {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := safeName(name)
		if got == "" || len(got) > 200+10 || got[0] == '.' || got[0] == '-' || !utf8.ValidString(got) || filepath.Base(got) != got ||
			bytes.ContainsAny([]byte(got), "/\\\x00\n\x1b") || !filepath.IsLocal(got) || instructs(got) {
			t.Fatalf("%q became %q", name, got)
		}
	})
}

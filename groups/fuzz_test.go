package groups_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
)

// Whatever the path, what opens is a file of the group's own, and what does
// not is refused in words fit for the agent.
func FuzzOpen(f *testing.F) {
	for _, p := range []string{
		"/workspace/group/report.pdf", "/workspace/group/link", "/workspace/group/away", "/workspace/project/.env", "/workspace/project/l/x",
		"/workspace/group/../main", "/workspace/group-evil/x", "~/x", "file:///x", "/workspace//group/./report.pdf", "/workspace/group/\x00", "/", "", ".",
	} {
		f.Add(p)
	}
	g := newGround(f)
	write(f, "SECRET", g.Project, ".env")
	write(f, "SECRET", g.Workspace("family"), "report.pdf")
	write(f, "mine", g.Workspace("main"), "report.pdf")
	write(f, "mine", g.Project, "report.pdf")
	for target, link := range map[string]string{"report.pdf": "link", "../family/report.pdf": "away"} {
		if err := os.Symlink(target, g.Workspace("main")+"/"+link); err != nil {
			f.Fatal(err)
		}
	}
	if err := os.Symlink("state", g.Project+"/l"); err != nil {
		f.Fatal(err)
	}
	m := g.mounts(f, g.main)
	f.Fuzz(func(t *testing.T, p string) {
		file, err := m.Open(p)
		if err == nil {
			defer file.Close()
			b := make([]byte, 8)
			n, _ := file.Read(b)
			if string(b[:n]) != "mine" || !strings.HasPrefix(file.Path, "/workspace/") {
				t.Fatalf("Open(%q) = %q at %q", p, b[:n], file.Path)
			}
			return
		}
		var refusal *groups.Error
		if !errors.As(err, &refusal) {
			t.Fatalf("Open(%q): %v is no refusal", p, err)
		}
		if words := refusal.Message + refusal.Hint; strings.Contains(words, g.State) || refusal.Hint == "" {
			t.Fatalf("Open(%q): %q", p, words)
		}
	})
}

func FuzzParseJID(f *testing.F) {
	for _, s := range []string{"web:a", "1@g.us", "slack:C1", "tg:-1", "", "web:\x00", "web:a\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		jid, err := groups.ParseJID(s)
		if (err == nil) != (jid != "") || err == nil && string(jid) != s {
			t.Fatalf("ParseJID(%q) = %q, %v", s, jid, err)
		}
		if err == nil && (len(s) > 256 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })) {
			t.Fatalf("ParseJID takes %q", s)
		}
	})
}

// Whatever the file holds, each thing that is wrong has its line and is
// printable, and no value of a secret key is shown.
func FuzzParse(f *testing.F) {
	f.Add(string(groups.Example()))
	for _, tt := range configErrors {
		f.Add(tt.yaml)
	}
	dir := f.TempDir()
	none := func(string) string { return "" }
	f.Fuzz(func(t *testing.T, text string) {
		cfg, err := groups.Parse(dir+"/longshore.yaml", []byte(text), none)
		if err == nil {
			if _, err := groups.NewRegistry(cfg.Groups); err != nil {
				t.Fatalf("what Parse takes, NewRegistry refuses: %v", err)
			}
			for _, g := range cfg.Groups {
				if _, err := groups.NewMountMap(cfg.Layout(), g); err != nil {
					t.Fatalf("what Parse takes, NewMountMap refuses: %v", err)
				}
			}
			return
		}
		for _, p := range problems(t, err) {
			if p.Line < 1 || p.Line > strings.Count(text, "\n")+strings.Count(text, "\r")+1 || p.Message == "" {
				t.Fatalf("problem %+v", p)
			}
			if strings.ContainsFunc(p.Error(), func(r rune) bool { return r < ' ' && r != '\n' }) {
				t.Fatalf("%q holds a control character", p.Error())
			}
		}
	})
}

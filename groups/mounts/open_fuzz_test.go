package mounts_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/internal/refusal"

	"github.com/longshore-bridge/longshore/internal/fstest"
)

// Whatever the path, what opens is a file of the group's own, and what does
// not is refused in words fit for the agent.
func FuzzOpen(f *testing.F) {
	for _, p := range []string{
		"/workspace/group/report.pdf", "/workspace/group/link", "/workspace/group/away", "/workspace/project/.env", "/workspace/project/l/x", "/workspace/project/.ENV", "/workspace/project/ſtate/groups/family/report.pdf",
		"/workspace/group/../main", "/workspace/group-evil/x", "~/x", "file:///x", "/workspace//group/./report.pdf", "/workspace/group/\x00", "/", "", ".",
	} {
		f.Add(p)
	}
	g := newGround(f)
	fstest.Write(f, "SECRET", g.Project, ".env")
	fstest.Write(f, "SECRET", g.Workspace("family"), "report.pdf")
	fstest.Write(f, "mine", g.Workspace("main"), "report.pdf")
	fstest.Write(f, "mine", g.Project, "report.pdf")
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
		var refusal *refusal.Error
		if !errors.As(err, &refusal) {
			t.Fatalf("Open(%q): %v is no refusal", p, err)
		}
		if words := refusal.Message + refusal.Hint; strings.Contains(words, g.State) || refusal.Hint == "" {
			t.Fatalf("Open(%q): %q", p, words)
		}
	})
}

package mounts_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/longshore-bridge/longshore/internal/refusal"

	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/internal/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
)

// ground is a host with two groups: "family", and "main" which is main. Both
// have an extra mount.
type ground struct {
	groups.Layout
	family, main groups.Group
	extra        string // host directory of family's extra mount "photos"
}

func newGround(t testing.TB) *ground {
	t.Helper()
	return groundIn(t, fstest.RealTemp(t))
}

// groundIn is a ground in dir, which is empty and free of links.
func groundIn(t testing.TB, dir string) *ground {
	t.Helper()
	g := &ground{
		Layout: groups.Layout{State: filepath.Join(dir, "project/state"), Project: filepath.Join(dir, "project")},
		extra:  filepath.Join(dir, "photos"),
	}
	g.family = groups.Group{Folder: "family", Chat: "web:family", Mounts: []groups.Extra{{Name: "photos", Host: g.extra}}}
	g.main = groups.Group{Folder: "main", Chat: "web:me", Main: true}
	fstest.Mkdir(t, g.extra)
	if err := g.Prepare([]groups.Group{g.family, g.main}); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *ground) mounts(t testing.TB, group groups.Group) *mounts.Map {
	t.Helper()
	m, err := mounts.New(g.Layout, group)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// content opens p and reads it, and fails when that is refused.
func content(t testing.TB, m *mounts.Map, p string) string {
	t.Helper()
	f, err := m.Open(p)
	if err != nil {
		t.Errorf("Open(%q): %v", p, err)
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Errorf("read %q: %v", p, err)
	}
	return string(b)
}

// refuses checks the code of the refusal, and that it has a remedy and no path
// of the host.
func refuses(t testing.TB, m *mounts.Map, p, want string) {
	t.Helper()
	f, err := m.Open(p)
	if err == nil {
		f.Close()
		t.Errorf("Open(%q) succeeds; want %s", p, want)
		return
	}
	if fstest.Code(err) != want {
		t.Errorf("Open(%q): %s (%v); want %s", p, fstest.Code(err), err, want)
		return
	}
	message, hint := err.(*refusal.Error).Message, err.(*refusal.Error).Hint
	if message == "" || hint == "" {
		t.Errorf("Open(%q): message %q, hint %q; want both", p, message, hint)
	}
	if words := message + hint; strings.Contains(words, os.TempDir()) || strings.ContainsFunc(words, func(r rune) bool { return r < ' ' }) {
		t.Errorf("Open(%q): %q holds a host path or a control character", p, words)
	}
}

func TestMountTableIsWhatTheDesignDraws(t *testing.T) {
	l := groups.Layout{State: "/srv/p/state", Project: "/srv/p"}
	m, err := mounts.New(l, groups.Group{Folder: "main", Main: true, Mounts: []groups.Extra{
		{Name: "ro", Host: "/data/ro"}, {Name: "rw", Host: "/data/rw/", Write: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []mounts.Mount{
		{Container: "/workspace/group", Host: "/srv/p/state/groups/main"},
		{Container: "/workspace/global", Host: "/srv/p/state/groups/global", ReadOnly: true},
		{Container: "/workspace/ipc/messages", Host: "/srv/p/state/ipc/main/messages"},
		{Container: "/workspace/ipc/files", Host: "/srv/p/state/ipc/main/files"},
		{Container: "/workspace/ipc/input", Host: "/srv/p/state/ipc/main/input"},
		{Container: "/workspace/ipc/results", Host: "/srv/p/state/ipc/main/results", ReadOnly: true},
		{Container: "/workspace/ipc/context", Host: "/srv/p/state/ipc/main/context", ReadOnly: true},
		{Container: "/workspace/project", Host: "/srv/p", ReadOnly: true},
		{Container: "/workspace/project/.env", Host: "/dev/null", ReadOnly: true, Shadow: true, Hides: "/srv/p/.env"},
		{Container: "/workspace/project/state", ReadOnly: true, Shadow: true, Hides: "/srv/p/state"},
		{Container: "/workspace/extra/ro", Host: "/data/ro", ReadOnly: true},
		{Container: "/workspace/extra/rw", Host: "/data/rw"},
	}
	if diff := cmp.Diff(want, m.Mounts()); diff != "" {
		t.Error(diff)
	}
}

func TestMountTableOfAV1Directory(t *testing.T) {
	l := groups.Layout{State: "/srv/v1", Project: "/srv/v1", V1: true}
	m, err := mounts.New(l, groups.Group{Folder: "main", Main: true})
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, mount := range m.Mounts() {
		got[mount.Container] = mount.Host + mount.Hides
	}
	want := map[string]string{
		"/workspace/group":          "/srv/v1/groups/main",
		"/workspace/global":         "/srv/v1/groups/global",
		"/home/node/.claude":        "/srv/v1/data/sessions/main/.claude",
		"/workspace/ipc":            "/srv/v1/data/ipc/main",
		"/workspace/ipc/messages":   "/srv/v1/data/ipc/main/messages",
		"/workspace/ipc/files":      "/srv/v1/data/ipc/main/files",
		"/workspace/ipc/input":      "/srv/v1/data/ipc/main/input",
		"/workspace/ipc/results":    "/srv/v1/data/ipc/main/results",
		"/workspace/ipc/context":    "/srv/v1/data/ipc/main/context",
		"/workspace/ipc/tasks":      "/srv/v1/data/ipc/main/messages",
		"/workspace/project":        "/srv/v1",
		"/workspace/project/.env":   "/dev/null/srv/v1/.env",
		"/workspace/project/data":   "/srv/v1/data",
		"/workspace/project/groups": "/srv/v1/groups",
		"/workspace/project/store":  "/srv/v1/store",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMountMapRefusesABadGroupOrLayout(t *testing.T) {
	good := groups.Layout{State: "/srv/state", Project: "/srv"}
	main := groups.Group{Folder: "main", Main: true}
	for name, tt := range map[string]struct {
		layout groups.Layout
		group  groups.Group
	}{
		"relative state":           {groups.Layout{State: "state"}, main},
		"relative project":         {groups.Layout{State: "/srv/state", Project: "."}, main},
		"folder ..":                {good, groups.Group{Folder: ".."}},
		"project is state":         {groups.Layout{State: "/srv", Project: "/srv"}, main},
		"project in state":         {groups.Layout{State: "/srv", Project: "/srv/x"}, main},
		"extra named ..":           {good, groups.Group{Folder: "a", Mounts: []groups.Extra{{Name: "..", Host: "/x"}}}},
		"extra named with a slash": {good, groups.Group{Folder: "a", Mounts: []groups.Extra{{Name: "a/b", Host: "/x"}}}},
		"extra twice":              {good, groups.Group{Folder: "a", Mounts: []groups.Extra{{Name: "x", Host: "/x"}, {Name: "x", Host: "/y"}}}},
		"relative extra":           {good, groups.Group{Folder: "a", Mounts: []groups.Extra{{Name: "x", Host: "x"}}}},
	} {
		if _, err := mounts.New(tt.layout, tt.group); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestOpenFindsTheFileOfTheRightGroup(t *testing.T) {
	g := newGround(t)
	fstest.Write(t, "family's", g.Workspace("family"), "report.pdf")
	fstest.Write(t, "main's", g.Workspace("main"), "report.pdf")
	fstest.Write(t, "all's", g.Global(), "a/b/report.pdf")
	fstest.Write(t, "staged", g.IPC("family", "files"), "id/report.pdf")
	fstest.Write(t, "photo", g.extra, "report.pdf")
	fstest.Write(t, "project's", g.Project, "report.pdf")
	family, main := g.mounts(t, g.family), g.mounts(t, g.main)

	for p, want := range map[string]string{
		"/workspace/group/report.pdf":        "family's",
		"/workspace/group//./report.pdf":     "family's",
		"/workspace/global/a/b/report.pdf":   "all's",
		"/workspace/ipc/files/id/report.pdf": "staged",
		"/workspace/extra/photos/report.pdf": "photo",
	} {
		if got := content(t, family, p); got != want {
			t.Errorf("family: %q holds %q, want %q", p, got, want)
		}
	}
	if got := content(t, main, "/workspace/group/report.pdf"); got != "main's" {
		t.Errorf("main: /workspace/group/report.pdf holds %q", got)
	}
	if got := content(t, main, "/workspace/project/report.pdf"); got != "project's" {
		t.Errorf("main: /workspace/project/report.pdf holds %q", got)
	}
	refuses(t, family, "/workspace/project/report.pdf", mounts.CodeNotMounted)
	refuses(t, main, "/workspace/extra/photos/report.pdf", mounts.CodeNotMounted)
	refuses(t, family, "/workspace/ipc/report.pdf", mounts.CodeNotMounted)
	refuses(t, family, "/etc/passwd", mounts.CodeNotMounted)
	refuses(t, family, "/workspace", mounts.CodeNotMounted)
}

func TestOpenSaysWhatItFound(t *testing.T) {
	g := newGround(t)
	fstest.Write(t, "12345", g.Workspace("family"), "sub/report.pdf")
	f, err := g.mounts(t, g.family).Open("/workspace/group//sub/./report.pdf")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Path != "/workspace/group/sub/report.pdf" || f.Info.Size() != 5 || f.Mount.Container != "/workspace/group" {
		t.Errorf("path %q, size %d, mount %q", f.Path, f.Info.Size(), f.Mount.Container)
	}
	if strings.Contains(f.Name(), g.State) {
		t.Errorf("the open file's name %q is a host path", f.Name())
	}
	if _, err := f.Write([]byte("x")); err == nil {
		t.Error("the file can be written")
	}
}

// Logical size counts: a sparse file takes no space here, and all of it there.
func TestSparseFileHasItsLogicalSize(t *testing.T) {
	g := newGround(t)
	path := fstest.Write(t, "", g.Workspace("family"), "sparse.bin")
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Fatal(err)
	}
	f, err := g.mounts(t, g.family).Open("/workspace/group/sparse.bin")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Info.Size() != 1<<40 {
		t.Errorf("size %d, want %d", f.Info.Size(), int64(1)<<40)
	}
}

func TestAMissingDirectoryHurtsNobodyElse(t *testing.T) {
	g := newGround(t)
	fstest.Write(t, "x", g.Workspace("family"), "report.pdf")
	if err := os.Remove(g.extra); err != nil {
		t.Fatal(err)
	}
	m := g.mounts(t, g.family)
	refuses(t, m, "/workspace/extra/photos/a.jpg", mounts.CodeMountMissing)
	content(t, m, "/workspace/group/report.pdf")
	fstest.Write(t, "back", g.extra, "a.jpg")
	if got := content(t, m, "/workspace/extra/photos/a.jpg"); got != "back" {
		t.Errorf("content %q after the directory is back", got)
	}
}

func TestParallelOpensWhileTheDirectoryIsReplaced(t *testing.T) {
	g := newGround(t)
	dir := g.Workspace("family")
	fstest.Write(t, "x", dir, "report.pdf")
	m := g.mounts(t, g.family)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				f, err := m.Open("/workspace/group/report.pdf")
				switch fstest.Code(err) {
				case "":
					f.Close()
				case mounts.CodeMountMissing, mounts.CodeFileMissing:
				default:
					t.Errorf("Open: %v", err)
				}
			}
		})
	}
	for i := range 50 {
		if err := os.Rename(dir, dir+".old"); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			m.Refresh()
		}
		if err := os.Rename(dir+".old", dir); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	content(t, m, "/workspace/group/report.pdf")
}

func TestExplainTellsEachDecision(t *testing.T) {
	g := newGround(t)
	fstest.Write(t, "12345", g.Workspace("family"), "report.pdf")
	fstest.Write(t, "", g.Workspace("family"), "empty.pdf")
	fstest.Symlink(t, "report.pdf", g.Workspace("family"), "latest.pdf")
	fstest.Symlink(t, "/etc/passwd", g.Workspace("family"), "away.pdf")
	m := g.mounts(t, g.family)
	for p, want := range map[string]string{
		"/workspace/group/report.pdf": "path mount file size",
		"/workspace/group/latest.pdf": "path mount link mount file size",
		"/workspace/group/away.pdf":   "path mount link !link",
		"/workspace/group/empty.pdf":  "path mount file !size",
		"/workspace/group/none.pdf":   "path mount !file",
		"/elsewhere/x.pdf":            "path !mount",
		"../x.pdf":                    "!path",
	} {
		var got []string
		file, steps, err := m.Explain(p)
		if (err == nil) != steps[len(steps)-1].OK {
			t.Errorf("Explain(%q): %v after the steps %v", p, err, steps)
		}
		if err == nil {
			file.Close()
		}
		for _, s := range steps {
			if s.Words == "" {
				t.Errorf("Explain(%q): step %s has no words", p, s.Name)
			}
			if !s.OK {
				s.Name = "!" + s.Name
			}
			got = append(got, s.Name)
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("Explain(%q): %s", p, diff)
		}
	}
}

// TestAFileIsFoundInTheOtherFormOfUnicode: a Mac writes names apart that models compose.
func TestAFileIsFoundInTheOtherFormOfUnicode(t *testing.T) {
	const composed, apart = "\u00e9t\u00e9", "e\u0301te\u0301"
	g := newGround(t)
	fstest.Write(t, "apart", g.Workspace("family"), apart+"/"+apart+".pdf")
	if err := os.Symlink("/etc", filepath.Join(g.Workspace("family"), apart+"-out")); err != nil {
		t.Fatal(err)
	}
	m := g.mounts(t, g.family)
	if got := content(t, m, "/workspace/group/"+composed+"/"+composed+".pdf"); got != "apart" {
		t.Errorf("it holds %q", got)
	}
	refuses(t, m, "/workspace/group/"+composed+"/other.pdf", mounts.CodeFileMissing)
	refuses(t, m, "/workspace/group/"+composed+"-out/passwd", mounts.CodeFileMissing)
}

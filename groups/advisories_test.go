package groups_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
)

// Media-path escapes: CVE-2026-25475, GHSA-33hm-cq8r-wc49, GHSA-hr5v-j9h9-xjhg,
// GHSA-jmf9-9729-7pp8.
func TestPathsThatOnlyLookLikePaths(t *testing.T) {
	g := newGround(t)
	write(t, "secret", g.Workspace("main"), "report.pdf")
	write(t, "mine", g.Workspace("family"), "report.pdf")
	m := g.mounts(t, g.family)
	host := filepath.Join(g.Workspace("family"), "report.pdf")
	for p, want := range map[string]string{
		"":                                             groups.CodeBadPath,
		"report.pdf":                                   groups.CodeBadPath,
		"./report.pdf":                                 groups.CodeBadPath,
		"~/report.pdf":                                 groups.CodeBadPath,
		"~root/.ssh/id_rsa":                            groups.CodeBadPath,
		"file:///workspace/group/report.pdf":           groups.CodeBadPath,
		"FILE:/workspace/group/report.pdf":             groups.CodeBadPath,
		"https://example.org/report.pdf":               groups.CodeBadPath,
		"/workspace/group/report.pdf/":                 groups.CodeBadPath,
		"/workspace/group/":                            groups.CodeBadPath,
		"/workspace/group/re\x00port.pdf":              groups.CodeBadPath,
		"/workspace/group/report.pdf\n":                groups.CodeBadPath,
		"/workspace/group/\x1b[31mred.pdf":             groups.CodeBadPath,
		"/workspace/group/\u0085x.pdf":                 groups.CodeBadPath,
		"/workspace/group/\xff.pdf":                    groups.CodeBadPath,
		"/" + strings.Repeat("a/", 2048):               groups.CodeBadPath,
		"/workspace/group/" + strings.Repeat("a", 300): groups.CodeBadPath,

		"/workspace/group/../main/report.pdf":     groups.CodePathEscapes,
		"/workspace/group/sub/../report.pdf":      groups.CodePathEscapes,
		"/workspace/group/..":                     groups.CodePathEscapes,
		"/../etc/passwd":                          groups.CodePathEscapes,
		"/workspace/group/../../../../etc/passwd": groups.CodePathEscapes,

		host:                          groups.CodeNotMounted,
		"/proc/self/environ":          groups.CodeNotMounted,
		"/WORKSPACE/group/report.pdf": groups.CodeNotMounted,
		"//etc/passwd":                groups.CodeNotMounted,

		"/workspace/group/report.pdf/x": groups.CodeFileMissing,
		"/workspace/group/..report.pdf": groups.CodeFileMissing,
		"/workspace/group/none.pdf":     groups.CodeFileMissing,
		"/workspace/group":              groups.CodeNotAFile,
	} {
		refuses(t, m, p, want)
	}
}

// CVE-2025-53110: /dir matches /dir-evil.
func TestSiblingThatSharesThePrefix(t *testing.T) {
	g := newGround(t)
	write(t, "evil", g.Workspace("family")+"-evil", "report.pdf")
	m := g.mounts(t, g.family)
	refuses(t, m, "/workspace/group-evil/report.pdf", groups.CodeNotMounted)
	refuses(t, m, "/workspace/groupreport.pdf", groups.CodeNotMounted)
	symlink(t, "../family-evil/report.pdf", g.Workspace("family"), "link.pdf")
	refuses(t, m, "/workspace/group/link.pdf", groups.CodePathEscapes)
}

// CVE-2025-53109: symlinks in file-system servers.
func TestLinksThatLeaveAreRefused(t *testing.T) {
	g := newGround(t)
	ws := g.Workspace("family")
	outside := write(t, "outside", filepath.Dir(g.Project), "outside.txt")
	write(t, "main's", g.Workspace("main"), "report.pdf")
	mkdir(t, ws, "sub")
	symlink(t, outside, ws, "absolute")
	symlink(t, "../main/report.pdf", ws, "relative")
	symlink(t, "../../../../outside.txt", ws, "far")
	symlink(t, filepath.Dir(outside), ws, "dir")
	symlink(t, "../main", ws, "reldir")
	symlink(t, "/proc/self/environ", ws, "environ")
	symlink(t, "loop", ws, "loop")
	symlink(t, "sub/../../main/report.pdf", ws, "inner")
	m := g.mounts(t, g.family)
	for _, p := range []string{"absolute", "relative", "far", "dir/outside.txt", "reldir/report.pdf", "environ", "loop", "inner", "loop/x"} {
		refuses(t, m, "/workspace/group/"+p, groups.CodePathEscapes)
	}
}

func TestLinksThatStayAreFollowedAsTheContainerWould(t *testing.T) {
	g := newGround(t)
	ws := g.Workspace("family")
	write(t, "report", ws, "out/v3/report.pdf")
	write(t, "all's", g.Global(), "logo.png")
	symlink(t, "out/v3/report.pdf", ws, "latest.pdf")
	symlink(t, "v3", ws, "out/current")
	symlink(t, "../latest.pdf", ws, "out/again.pdf")
	symlink(t, "/workspace/group/out/v3/report.pdf", ws, "absolute.pdf")
	symlink(t, "../global/logo.png", ws, "logo.png")
	symlink(t, "../../latest.pdf", ws, "out/v3/up.pdf")
	m := g.mounts(t, g.family)
	for p, want := range map[string]string{
		"latest.pdf":             "report",
		"out/current/report.pdf": "report",
		"out/again.pdf":          "report",
		"out/current/up.pdf":     "report", // ".." starts at out/v3, where the link lies
		"absolute.pdf":           "report",
		"logo.png":               "all's",
	} {
		if got := content(t, m, "/workspace/group/"+p); got != want {
			t.Errorf("%s: %q, want %q", p, got, want)
		}
	}
}

// A dangling link must not look like a file that may be made, nor name its
// target.
func TestDanglingLink(t *testing.T) {
	g := newGround(t)
	symlink(t, "nowhere.pdf", g.Workspace("family"), "dangling.pdf")
	refuses(t, g.mounts(t, g.family), "/workspace/group/dangling.pdf", groups.CodeFileMissing)
}

// A prefix map alone would read the host's .env, over which the container has
// /dev/null.
func TestShadowsHideWhatLiesBehind(t *testing.T) {
	g := newGround(t)
	write(t, "SECRET=1", g.Project, ".env")
	write(t, "keys", g.Store(), "keys.db")
	write(t, "theirs", g.Workspace("family"), "report.pdf")
	write(t, "fine", g.Project, ".environment")
	write(t, "fine", g.Project, "sub/.env")
	symlink(t, ".env", g.Project, "config")
	symlink(t, "state", g.Project, "s")
	symlink(t, "state/store/keys.db", g.Project, "k")
	symlink(t, "../.env", g.Project, "sub/up")
	m := g.mounts(t, g.main)
	for _, p := range []string{
		".env", ".env/x", "state/store/keys.db", "state/groups/family/report.pdf", "state",
		"config", "s/store/keys.db", "s/groups/family/report.pdf", "k", "sub/up",
	} {
		refuses(t, m, "/workspace/project/"+p, groups.CodePathShadowed)
	}
	content(t, m, "/workspace/project/.environment")
	content(t, m, "/workspace/project/sub/.env")
}

// An agent swaps a directory for a link, or for another directory.
func TestSwappedDirectoryIsNotFollowed(t *testing.T) {
	g := newGround(t)
	write(t, "mine", g.IPC("family", "files"), "a.pdf")
	write(t, "theirs", g.IPC("main", "files"), "a.pdf")
	m := g.mounts(t, g.family)
	const p = "/workspace/ipc/files/a.pdf"
	content(t, m, p)

	dir := g.IPC("family", "files")
	if err := os.Rename(dir, dir+".mine"); err != nil {
		t.Fatal(err)
	}
	refuses(t, m, p, groups.CodeMountMissing)
	symlink(t, "../main/files", dir)
	refuses(t, m, p, groups.CodeMountMissing)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	write(t, "new", dir, "a.pdf")
	if got := content(t, m, p); got != "new" {
		t.Errorf("after the exchange: %q, want that of the directory that bears the name", got)
	}
}

func TestEmptyFileIsRefused(t *testing.T) {
	g := newGround(t)
	write(t, "", g.Workspace("family"), "empty.pdf")
	refuses(t, g.mounts(t, g.family), "/workspace/group/empty.pdf", groups.CodeFileEmpty)
}

func TestMissingFileListsWhatIsMounted(t *testing.T) {
	g := newGround(t)
	_, err := g.mounts(t, g.family).Open("/workspace/group/none.pdf")
	_, _, hint := err.(*groups.Error).Refusal()
	for _, dir := range []string{"/workspace/group", "/workspace/global", "/workspace/extra/photos"} {
		if !strings.Contains(hint, dir) {
			t.Errorf("hint %q does not name %s", hint, dir)
		}
	}
}

func TestHardLinkIsRefused(t *testing.T) {
	g := newGround(t)
	secret := write(t, "secret", g.Workspace("main"), "secret.txt")
	if err := os.Link(secret, filepath.Join(g.Workspace("family"), "mine.txt")); err != nil {
		t.Fatal(err)
	}
	refuses(t, g.mounts(t, g.family), "/workspace/group/mine.txt", groups.CodeHardLink)
}

package mounts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/internal/refusal"

	"github.com/longshore-bridge/longshore/internal/fstest"
)

// Media-path escapes: CVE-2026-25475, GHSA-33hm-cq8r-wc49, GHSA-hr5v-j9h9-xjhg,
// GHSA-jmf9-9729-7pp8.
func TestPathsThatOnlyLookLikePaths(t *testing.T) {
	g := newGround(t)
	fstest.Write(t, "secret", g.Workspace("main"), "report.pdf")
	fstest.Write(t, "mine", g.Workspace("family"), "report.pdf")
	m := g.mounts(t, g.family)
	host := filepath.Join(g.Workspace("family"), "report.pdf")
	for p, want := range map[string]string{
		"":                                             mounts.CodeBadPath,
		"report.pdf":                                   mounts.CodeBadPath,
		"./report.pdf":                                 mounts.CodeBadPath,
		"~/report.pdf":                                 mounts.CodeBadPath,
		"~root/.ssh/id_rsa":                            mounts.CodeBadPath,
		"file:///workspace/group/report.pdf":           mounts.CodeBadPath,
		"FILE:/workspace/group/report.pdf":             mounts.CodeBadPath,
		"https://example.org/report.pdf":               mounts.CodeBadPath,
		"/workspace/group/report.pdf/":                 mounts.CodeBadPath,
		"/workspace/group/":                            mounts.CodeBadPath,
		"/workspace/group/re\x00port.pdf":              mounts.CodeBadPath,
		"/workspace/group/report.pdf\n":                mounts.CodeBadPath,
		"/workspace/group/\x1b[31mred.pdf":             mounts.CodeBadPath,
		"/workspace/group/\u0085x.pdf":                 mounts.CodeBadPath,
		"/workspace/group/\xff.pdf":                    mounts.CodeBadPath,
		"/" + strings.Repeat("a/", 2048):               mounts.CodeBadPath,
		"/workspace/group/" + strings.Repeat("a", 300): mounts.CodeBadPath,

		"/workspace/group/../main/report.pdf":     mounts.CodePathEscapes,
		"/workspace/group/sub/../report.pdf":      mounts.CodePathEscapes,
		"/workspace/group/..":                     mounts.CodePathEscapes,
		"/../etc/passwd":                          mounts.CodePathEscapes,
		"/workspace/group/../../../../etc/passwd": mounts.CodePathEscapes,

		host:                          mounts.CodeNotMounted,
		"/proc/self/environ":          mounts.CodeNotMounted,
		"/WORKSPACE/group/report.pdf": mounts.CodeNotMounted,
		"//etc/passwd":                mounts.CodeNotMounted,

		"/workspace/group/report.pdf/x": mounts.CodeFileMissing,
		"/workspace/group/..report.pdf": mounts.CodeFileMissing,
		"/workspace/group/none.pdf":     mounts.CodeFileMissing,
		"/workspace/group":              mounts.CodeNotAFile,
	} {
		refuses(t, m, p, want)
	}
}

// CVE-2025-53110: /dir matches /dir-evil.
func TestSiblingThatSharesThePrefix(t *testing.T) {
	g := newGround(t)
	fstest.Write(t, "evil", g.Workspace("family")+"-evil", "report.pdf")
	m := g.mounts(t, g.family)
	refuses(t, m, "/workspace/group-evil/report.pdf", mounts.CodeNotMounted)
	refuses(t, m, "/workspace/groupreport.pdf", mounts.CodeNotMounted)
	fstest.Symlink(t, "../family-evil/report.pdf", g.Workspace("family"), "link.pdf")
	refuses(t, m, "/workspace/group/link.pdf", mounts.CodePathEscapes)
}

// CVE-2025-53109: symlinks in file-system servers.
func TestLinksThatLeaveAreRefused(t *testing.T) {
	g := newGround(t)
	ws := g.Workspace("family")
	outside := fstest.Write(t, "outside", filepath.Dir(g.Project), "outside.txt")
	fstest.Write(t, "main's", g.Workspace("main"), "report.pdf")
	fstest.Mkdir(t, ws, "sub")
	fstest.Symlink(t, outside, ws, "absolute")
	fstest.Symlink(t, "../main/report.pdf", ws, "relative")
	fstest.Symlink(t, "../../../../outside.txt", ws, "far")
	fstest.Symlink(t, filepath.Dir(outside), ws, "dir")
	fstest.Symlink(t, "../main", ws, "reldir")
	fstest.Symlink(t, "/proc/self/environ", ws, "environ")
	fstest.Symlink(t, "loop", ws, "loop")
	fstest.Symlink(t, "sub/../../main/report.pdf", ws, "inner")
	m := g.mounts(t, g.family)
	for _, p := range []string{"absolute", "relative", "far", "dir/outside.txt", "reldir/report.pdf", "environ", "loop", "inner", "loop/x"} {
		refuses(t, m, "/workspace/group/"+p, mounts.CodePathEscapes)
	}
}

func TestLinksThatStayAreFollowedAsTheContainerWould(t *testing.T) {
	g := newGround(t)
	ws := g.Workspace("family")
	fstest.Write(t, "report", ws, "out/v3/report.pdf")
	fstest.Write(t, "all's", g.Global(), "logo.png")
	fstest.Symlink(t, "out/v3/report.pdf", ws, "latest.pdf")
	fstest.Symlink(t, "v3", ws, "out/current")
	fstest.Symlink(t, "../latest.pdf", ws, "out/again.pdf")
	fstest.Symlink(t, "/workspace/group/out/v3/report.pdf", ws, "absolute.pdf")
	fstest.Symlink(t, "../global/logo.png", ws, "logo.png")
	fstest.Symlink(t, "../../latest.pdf", ws, "out/v3/up.pdf")
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
	fstest.Symlink(t, "nowhere.pdf", g.Workspace("family"), "dangling.pdf")
	refuses(t, g.mounts(t, g.family), "/workspace/group/dangling.pdf", mounts.CodeFileMissing)
}

// A prefix map alone would read the host's .env, over which the container has
// /dev/null.
func TestShadowsHideWhatLiesBehind(t *testing.T) {
	g := newGround(t)
	fstest.Write(t, "SECRET=1", g.Project, ".env")
	fstest.Write(t, "keys", g.Store(), "keys.db")
	fstest.Write(t, "theirs", g.Workspace("family"), "report.pdf")
	fstest.Write(t, "fine", g.Project, ".environment")
	fstest.Write(t, "fine", g.Project, "sub/.env")
	fstest.Symlink(t, ".env", g.Project, "config")
	fstest.Symlink(t, "state", g.Project, "s")
	fstest.Symlink(t, "state/store/keys.db", g.Project, "k")
	fstest.Symlink(t, "../.env", g.Project, "sub/up")
	m := g.mounts(t, g.main)
	for _, p := range []string{
		".env", ".env/x", "state/store/keys.db", "state/groups/family/report.pdf", "state",
		"config", "s/store/keys.db", "s/groups/family/report.pdf", "k", "sub/up",
	} {
		refuses(t, m, "/workspace/project/"+p, mounts.CodePathShadowed)
	}
	content(t, m, "/workspace/project/.environment")
	content(t, m, "/workspace/project/sub/.env")
}

// An agent swaps a directory for a link, or for another directory.
func TestSwappedDirectoryIsNotFollowed(t *testing.T) {
	g := newGround(t)
	fstest.Write(t, "mine", g.IPC("family", "files"), "a.pdf")
	fstest.Write(t, "theirs", g.IPC("main", "files"), "a.pdf")
	m := g.mounts(t, g.family)
	const p = "/workspace/ipc/files/a.pdf"
	content(t, m, p)

	dir := g.IPC("family", "files")
	if err := os.Rename(dir, dir+".mine"); err != nil {
		t.Fatal(err)
	}
	refuses(t, m, p, mounts.CodeMountMissing)
	fstest.Symlink(t, "../main/files", dir)
	refuses(t, m, p, mounts.CodeMountMissing)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	fstest.Write(t, "new", dir, "a.pdf")
	if got := content(t, m, p); got != "new" {
		t.Errorf("after the exchange: %q, want that of the directory that bears the name", got)
	}
}

func TestEmptyFileIsRefused(t *testing.T) {
	g := newGround(t)
	fstest.Write(t, "", g.Workspace("family"), "empty.pdf")
	refuses(t, g.mounts(t, g.family), "/workspace/group/empty.pdf", mounts.CodeFileEmpty)
}

func TestMissingFileListsWhatIsMounted(t *testing.T) {
	g := newGround(t)
	_, err := g.mounts(t, g.family).Open("/workspace/group/none.pdf")
	hint := err.(*refusal.Error).Hint
	for _, dir := range []string{"/workspace/group", "/workspace/global", "/workspace/extra/photos"} {
		if !strings.Contains(hint, dir) {
			t.Errorf("hint %q does not name %s", hint, dir)
		}
	}
}

func TestHardLinkIsRefused(t *testing.T) {
	g := newGround(t)
	secret := fstest.Write(t, "secret", g.Workspace("main"), "secret.txt")
	if err := os.Link(secret, filepath.Join(g.Workspace("family"), "mine.txt")); err != nil {
		t.Fatal(err)
	}
	refuses(t, g.mounts(t, g.family), "/workspace/group/mine.txt", mounts.CodeHardLink)
}

package mounts_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/internal/refusal"

	"github.com/longshore-bridge/longshore/internal/fstest"

	"github.com/longshore-bridge/longshore/groups"
)

// newV1Ground is newGround over the root of a NanoClaw v1 installation.
func newV1Ground(t *testing.T) *ground {
	t.Helper()
	g := newGround(t)
	root := filepath.Join(filepath.Dir(g.Project), "nanoclaw")
	fstest.Mkdir(t, root)
	g.Layout = groups.Layout{State: root, Project: root, V1: true}
	if err := g.Prepare([]groups.Group{g.family, g.main}); err != nil {
		t.Fatal(err)
	}
	return g
}

// Forks stage what they send below the whole queue directory, which v1 mounts.
func TestV1OpensWhatAForkStaged(t *testing.T) {
	g := newV1Ground(t)
	fstest.Write(t, "staged", g.IPC("family", "outbound_files"), "a1b2/report.pdf")
	fstest.Write(t, "loose", g.IPC("family", ""), "report.pdf")
	fstest.Write(t, "ours", g.IPC("family", "files"), "id/report.pdf")
	fstest.Write(t, "main's", g.IPC("main", "outbound_files"), "a1b2/report.pdf")
	m := g.mounts(t, g.family)
	for p, want := range map[string]string{
		"/workspace/ipc/outbound_files/a1b2/report.pdf": "staged",
		"/workspace/ipc/report.pdf":                     "loose",
		"/workspace/ipc/files/id/report.pdf":            "ours",
	} {
		if got := content(t, m, p); got != want {
			t.Errorf("%s holds %q, want %q", p, got, want)
		}
	}
	refuses(t, m, "/workspace/ipc/../main/outbound_files/a1b2/report.pdf", mounts.CodePathEscapes)
	refuses(t, m, "/workspace/ipc-evil/report.pdf", mounts.CodeNotMounted)
}

// The home of v1's CLI is mounted, with the CLI's keys and conversations. A
// request for a file there passed the host, though the tool refused the path.
func TestV1SendsNothingFromTheHomeOfItsCLI(t *testing.T) {
	g := newV1Ground(t)
	fstest.Write(t, "key", g.Session("family"), ".credentials.json")
	m := g.mounts(t, g.family)
	refuses(t, m, "/home/node/.claude/.credentials.json", mounts.CodeNotMounted)
}

// In v1's layout an agent writes in the directory that holds the queue's
// leaves: it may put anything in their place.
func TestV1AgentSwapsTheLeavesOfItsQueue(t *testing.T) {
	g := newV1Ground(t)
	fstest.Write(t, "theirs", g.IPC("main", "files"), "a.pdf")
	fstest.Write(t, "theirs", g.IPC("main", "outbound_files"), "id/a.pdf")
	secret := fstest.Write(t, "secret", g.Store(), "auth/creds.json")
	m := g.mounts(t, g.family)
	files := g.IPC("family", "files")
	fstest.Write(t, "mine", files, "a.pdf")
	content(t, m, "/workspace/ipc/files/a.pdf")
	if err := os.Rename(files, files+".mine"); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"../main/files", g.IPC("main", "files"), "../../../store/auth", filepath.Dir(secret), "messages"} {
		fstest.Symlink(t, target, files)
		refuses(t, m, "/workspace/ipc/files/a.pdf", mounts.CodeMountMissing)
		refuses(t, m, "/workspace/ipc/files/creds.json", mounts.CodeMountMissing)
		if err := os.Remove(files); err != nil {
			t.Fatal(err)
		}
	}
	fstest.Symlink(t, "../main/outbound_files", g.IPC("family", ""), "outbound_files")
	fstest.Symlink(t, "../../../store/auth/creds.json", g.IPC("family", ""), "creds.json")
	fstest.Symlink(t, secret, g.IPC("family", ""), "keys.json")
	for _, p := range []string{"outbound_files/id/a.pdf", "creds.json", "keys.json"} {
		refuses(t, m, "/workspace/ipc/"+p, mounts.CodePathEscapes)
	}
}

func TestV1MainSeesTheProjectWithoutItsSecrets(t *testing.T) {
	g := newV1Ground(t)
	fstest.Write(t, "source", g.Project, "src/index.ts")
	fstest.Write(t, "SECRET=1", g.Project, ".env")
	fstest.Write(t, "keys", g.Store(), "auth/creds.json")
	fstest.Write(t, "theirs", g.Session("family"), "projects/log.jsonl")
	m := g.mounts(t, g.main)
	content(t, m, "/workspace/project/src/index.ts")
	for _, p := range []string{".env", "store/auth/creds.json", "data/sessions/family/.claude/projects/log.jsonl", "groups/family/x", "data/ipc/family/x"} {
		refuses(t, m, "/workspace/project/"+p, mounts.CodePathShadowed)
	}
	_, err := m.Open("/workspace/group/none.pdf")
	if hint := err.(*refusal.Error).Hint; strings.Contains(hint, "/home/node") || strings.Contains(hint, "/workspace/ipc") {
		t.Errorf("the hint %q names directories that are not meant for files", hint)
	}
}

func TestV1QueueIsTheAgentsToWriteIn(t *testing.T) {
	g := newV1Ground(t)
	uid, _ := groups.AgentUser()
	for dir, owner := range map[string]int{
		g.IPC("family", ""):         uid,
		g.IPC("family", "messages"): uid,
		g.IPC("family", "tasks"):    uid,
		g.Session("family"):         uid,
		g.IPC("family", "results"):  os.Geteuid(),
		g.IPC("family", "context"):  os.Geteuid(),
		g.IPCDir():                  os.Geteuid(),
	} {
		info, err := os.Lstat(dir)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := int(info.Sys().(*syscall.Stat_t).Uid); got != owner {
			t.Errorf("%s belongs to user %d, want %d", strings.TrimPrefix(dir, g.State), got, owner)
		}
	}
	const theirs = "current_tasks.json"
	if _, err := os.Lstat(g.IPC("family", theirs)); err == nil {
		t.Errorf("%s was made: it is v1's own", theirs)
	}
}

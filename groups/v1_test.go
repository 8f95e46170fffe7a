package groups_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
)

// newV1Ground is newGround over the root of a NanoClaw v1 installation.
func newV1Ground(t *testing.T) *ground {
	t.Helper()
	g := newGround(t)
	root := filepath.Join(filepath.Dir(g.Project), "nanoclaw")
	mkdir(t, root)
	g.Layout = groups.Layout{State: root, Project: root, V1: true}
	if err := g.Prepare([]groups.Group{g.family, g.main}); err != nil {
		t.Fatal(err)
	}
	return g
}

// Forks stage what they send below the whole queue directory, which v1 mounts.
func TestV1OpensWhatAForkStaged(t *testing.T) {
	g := newV1Ground(t)
	write(t, "staged", g.IPC("family", "outbound_files"), "a1b2/report.pdf")
	write(t, "loose", g.IPC("family", ""), "report.pdf")
	write(t, "ours", g.IPC("family", "files"), "id/report.pdf")
	write(t, "main's", g.IPC("main", "outbound_files"), "a1b2/report.pdf")
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
	refuses(t, m, "/workspace/ipc/../main/outbound_files/a1b2/report.pdf", groups.CodePathEscapes)
	refuses(t, m, "/workspace/ipc-evil/report.pdf", groups.CodeNotMounted)
}

// In v1's layout an agent writes in the directory that holds the queue's
// leaves: it may put anything in their place.
func TestV1AgentSwapsTheLeavesOfItsQueue(t *testing.T) {
	g := newV1Ground(t)
	write(t, "theirs", g.IPC("main", "files"), "a.pdf")
	write(t, "theirs", g.IPC("main", "outbound_files"), "id/a.pdf")
	secret := write(t, "secret", g.Store(), "auth/creds.json")
	m := g.mounts(t, g.family)
	files := g.IPC("family", "files")
	write(t, "mine", files, "a.pdf")
	content(t, m, "/workspace/ipc/files/a.pdf")
	if err := os.Rename(files, files+".mine"); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"../main/files", g.IPC("main", "files"), "../../../store/auth", filepath.Dir(secret), "messages"} {
		symlink(t, target, files)
		refuses(t, m, "/workspace/ipc/files/a.pdf", groups.CodeMountMissing)
		refuses(t, m, "/workspace/ipc/files/creds.json", groups.CodeMountMissing)
		if err := os.Remove(files); err != nil {
			t.Fatal(err)
		}
	}
	symlink(t, "../main/outbound_files", g.IPC("family", ""), "outbound_files")
	symlink(t, "../../../store/auth/creds.json", g.IPC("family", ""), "creds.json")
	symlink(t, secret, g.IPC("family", ""), "keys.json")
	for _, p := range []string{"outbound_files/id/a.pdf", "creds.json", "keys.json"} {
		refuses(t, m, "/workspace/ipc/"+p, groups.CodePathEscapes)
	}
}

func TestV1MainSeesTheProjectWithoutItsSecrets(t *testing.T) {
	g := newV1Ground(t)
	write(t, "source", g.Project, "src/index.ts")
	write(t, "SECRET=1", g.Project, ".env")
	write(t, "keys", g.Store(), "auth/creds.json")
	write(t, "theirs", g.Session("family"), "projects/log.jsonl")
	m := g.mounts(t, g.main)
	content(t, m, "/workspace/project/src/index.ts")
	for _, p := range []string{".env", "store/auth/creds.json", "data/sessions/family/.claude/projects/log.jsonl", "groups/family/x", "data/ipc/family/x"} {
		refuses(t, m, "/workspace/project/"+p, groups.CodePathShadowed)
	}
	_, err := m.Open("/workspace/group/none.pdf")
	if _, _, hint := err.(*groups.Error).Refusal(); strings.Contains(hint, "/home/node") || strings.Contains(hint, "/workspace/ipc") {
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

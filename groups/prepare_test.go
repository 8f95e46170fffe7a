package groups_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/longshore-bridge/longshore/internal/fstest"

	"github.com/longshore-bridge/longshore/groups"
)

func TestPrepareMakesTheLayout(t *testing.T) {
	uid, gid := groups.AgentUser()
	host := os.Geteuid()
	l := groups.Layout{State: filepath.Join(t.TempDir(), "a/state")}
	old := syscall.Umask(0o077) // modes do not depend on it
	err := l.Prepare([]groups.Group{{Folder: "family"}})
	syscall.Umask(old)
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]struct {
		mode os.FileMode
		uid  int
	}{
		".":                   {0o700, host},
		"groups":              {0o755, host},
		"groups/global":       {0o755, host},
		"groups/family":       {0o755, uid},
		"ipc":                 {0o755, host},
		"ipc/errors":          {0o700, host},
		"ipc/family":          {0o755, host},
		"ipc/family/messages": {0o755, uid},
		"ipc/family/files":    {0o755, uid},
		"ipc/family/input":    {0o755, uid},
		"ipc/family/results":  {0o755, host},
		"ipc/family/context":  {0o755, host},
		"store":               {0o700, host},
		"logs":                {0o700, host},
	} {
		info, err := os.Lstat(filepath.Join(l.State, dir))
		if err != nil {
			t.Error(err)
			continue
		}
		st := info.Sys().(*syscall.Stat_t)
		if !info.IsDir() || info.Mode().Perm() != want.mode || int(st.Uid) != want.uid || want.uid == uid && int(st.Gid) != gid && host != uid {
			t.Errorf("%s: %v of user %d, group %d; want %v of %d", dir, info.Mode(), st.Uid, st.Gid, want.mode, want.uid)
		}
	}
	if err := l.Prepare([]groups.Group{{Folder: "family"}, {Folder: "team"}}); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

func TestPrepareQueueMakesWhatIsMissingAndFollowsNoLink(t *testing.T) {
	l := groups.Layout{State: t.TempDir()}
	if err := l.Prepare([]groups.Group{{Folder: "family"}}); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(l.IPC("family", "")); err != nil {
		t.Fatal(err)
	}
	if err := l.PrepareQueue("family"); err != nil {
		t.Fatal(err)
	}
	for _, leaf := range []string{"messages", "files", "input", "results", "context"} {
		if info, err := os.Lstat(l.IPC("family", leaf)); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", leaf, err)
		}
	}
	outside := t.TempDir()
	for _, planted := range []string{"family/results", "family", "errors"} {
		if err := os.RemoveAll(filepath.Join(l.IPCDir(), planted)); err != nil {
			t.Fatal(err)
		}
		fstest.Symlink(t, outside, l.IPCDir(), planted)
		if err := l.PrepareQueue("family"); err == nil {
			t.Errorf("%s is a link, and there is no error", planted)
		}
		if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
			t.Errorf("%s: %d entries behind the link, %v", planted, len(entries), err)
		}
	}
}

func TestPrepareOfAV1Directory(t *testing.T) {
	dir := t.TempDir()
	l := groups.Layout{State: dir, Project: dir, V1: true}
	if err := l.Prepare([]groups.Group{{Folder: "main", Main: true}}); err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"groups/main", "groups/global", "data/ipc/main/messages", "data/ipc/errors", "data/logs", "store"} {
		if info, err := os.Stat(filepath.Join(dir, sub)); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", sub, err)
		}
	}
}

// nanoclaw #2880: the root of what is written to may itself be a planted link.
func TestPrepareRefusesAPlantedLink(t *testing.T) {
	for _, planted := range []string{"groups/family", "ipc/family", "ipc/family/messages", "groups"} {
		outside, l := t.TempDir(), groups.Layout{State: t.TempDir()}
		fstest.Mkdir(t, l.State, filepath.Dir(planted))
		fstest.Symlink(t, outside, l.State, planted)
		if err := l.Prepare([]groups.Group{{Folder: "family"}}); err == nil {
			t.Errorf("%s is a link, and there is no error", planted)
		}
		if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
			t.Errorf("%s: %d entries behind the link, %v", planted, len(entries), err)
		}
	}
}

func TestPrepareRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		layout groups.Layout
		group  groups.Group
	}{
		"a relative state": {groups.Layout{State: "state"}, groups.Group{Folder: "a"}},
		"the folder ..":    {groups.Layout{State: t.TempDir()}, groups.Group{Folder: ".."}},
		"the folder a/b":   {groups.Layout{State: t.TempDir()}, groups.Group{Folder: "a/b"}},
	} {
		if err := tt.layout.Prepare([]groups.Group{tt.group}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A start looks at each directory once: what it takes for sound must need nothing.
func TestOnlyAGroupThatNeedsNothingIsSound(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, v1 := range []bool{false, true} {
		l := groups.Layout{State: t.TempDir(), V1: v1}
		prepare := func() {
			t.Helper()
			if err := l.Prepare([]groups.Group{{Folder: "family"}}); err != nil || !l.Sound("family") {
				t.Fatalf("v1 %v: after Prepare it is sound: %v, %v", v1, l.Sound("family"), err)
			}
		}
		if l.Sound("family") || l.Sound("..") {
			t.Error("what does not exist is sound")
		}
		prepare()
		dirs := []string{l.Workspace("family"), l.IPC("family", "")}
		for _, leaf := range []string{"messages", "files", "input", "results", "context"} {
			dirs = append(dirs, l.IPC("family", leaf))
		}
		if v1 {
			dirs = append(dirs, l.Session("family"), l.IPC("family", groups.V1Tasks))
		}
		for _, dir := range dirs {
			must(os.Chmod(dir, 0o055))
			if l.Sound("family") {
				t.Errorf("v1 %v: nobody may use %s", v1, dir)
			}
			must(errors.Join(os.Chmod(dir, 0o755), os.RemoveAll(dir)))
			if l.Sound("family") {
				t.Errorf("v1 %v: %s is gone", v1, dir)
			}
			must(os.Symlink(t.TempDir(), dir))
			if l.Sound("family") {
				t.Errorf("v1 %v: %s is a link", v1, dir)
			}
			must(os.Remove(dir))
			prepare()
		}
		home := filepath.Join(l.Homes(), "family")
		must(errors.Join(os.MkdirAll(home, 0o755), os.Chmod(home, 0o300)))
		if l.Sound("family") {
			t.Errorf("v1 %v: nobody may read its home", v1)
		}
		must(os.Chmod(home, 0o755)) // or only root could remove it
	}
}

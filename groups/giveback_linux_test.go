package groups_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/longshore-bridge/longshore/internal/need"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/groups"
)

// TestAssistantThatLocksItselfOutIsLetInAgain takes every right on a group's own
// directories away. A host without privileges gives them back.
func TestAssistantThatLocksItselfOutIsLetInAgain(t *testing.T) {
	for _, v1 := range []bool{false, true} {
		l := layoutOfAgent(t, v1)
		dirs := []string{l.Workspace("family"), filepath.Join(l.Homes(), "family"), l.IPC("family", "files"), l.IPC("family", "input"), l.IPC("family", "messages")}
		if v1 {
			dirs = append(dirs, l.Session("family"), l.IPC("family", "")) // after what lies in it
		}
		for _, dir := range dirs {
			if err := os.Chmod(dir, 0o050); err != nil {
				t.Fatal(err)
			}
		}
		given, err := asAgent(func() ([]string, error) { return l.GiveBack("family") })
		if err != nil || len(given) != len(dirs) {
			t.Errorf("v1 %v: given back %q, %v; want %q", v1, given, err, dirs)
		}
		for _, dir := range dirs {
			if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o750 || !slices.Contains(given, dir) {
				t.Errorf("%s: %v, %v", dir, info.Mode(), err)
			}
		}
		if given, err := l.GiveBack("family"); err != nil || given != nil {
			t.Errorf("a second time: %q, %v", given, err)
		}
	}
}

// TestOthersDirectoriesAreLeftAlone: no link leads elsewhere, and a directory of
// somebody else's is the operator's business.
func TestOthersDirectoriesAreLeftAlone(t *testing.T) {
	if os.Geteuid() != 0 {
		need.Lacking(t, "give a directory to a stranger: only root can")
	}
	l := layoutOfAgent(t, true)
	uid, gid := groups.AgentUser()
	elsewhere := filepath.Join(l.Groups(), "other") // its owner is the same user
	for _, planted := range []string{l.IPC("family", "files"), l.Workspace("family")} {
		if err := errors.Join(os.Remove(planted), os.Symlink(elsewhere, planted)); err != nil {
			t.Fatal(err)
		}
	}
	strangers := l.IPC("family", "input")
	if err := errors.Join(os.Mkdir(elsewhere, 0), os.Chown(elsewhere, uid, gid), os.Chown(strangers, 4712, 4712), os.Chmod(strangers, 0)); err != nil {
		t.Fatal(err)
	}
	if given, err := l.GiveBack("family"); err != nil || given != nil {
		t.Errorf("given back %q, %v", given, err)
	}
	for _, dir := range []string{elsewhere, strangers} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0 {
			t.Errorf("%s: %v, %v; want it as it was", dir, info.Mode(), err)
		}
	}
}

// layoutOfAgent is a prepared state directory, with a home, where the agent's
// user may look for its directories.
func layoutOfAgent(t *testing.T, v1 bool) groups.Layout {
	t.Helper()
	state, err := os.MkdirTemp("", "lsg") // the test's own is closed to all but its user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(state) })
	l := groups.Layout{State: state, V1: v1}
	uid, gid := groups.AgentUser()
	home := filepath.Join(l.Homes(), "family")
	if err := errors.Join(l.Prepare([]groups.Group{{Folder: "family"}}), os.Mkdir(l.Homes(), 0o755), os.Mkdir(home, 0o700), os.Chown(home, uid, gid)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{state, filepath.Join(state, "data")} {
		if err := os.Chmod(dir, 0o755); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return l
}

// asAgent runs f with the file rights of the agent's user, on a thread that ends
// with it.
func asAgent(f func() ([]string, error)) (given []string, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		uid, _ := groups.AgentUser()
		if err = unix.Setfsuid(uid); err == nil {
			given, err = f()
		}
	}()
	<-done
	return given, err
}

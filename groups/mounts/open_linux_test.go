package mounts_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/internal/fstest"
	"github.com/longshore-bridge/longshore/internal/need"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/groups"
)

func TestPipeSocketAndDirectoryAreRefusedWithoutWaiting(t *testing.T) {
	g := newGround(t)
	ws := g.Workspace("family")
	fstest.Mkdir(t, ws, "dir")
	for i := range 500 {
		if err := unix.Mkfifo(filepath.Join(ws, fmt.Sprintf("pipe%d", i)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fstest.Symlink(t, "pipe0", ws, "link")
	t.Chdir(ws) // a socket's address is short
	listener, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	m := g.mounts(t, g.family)
	for i := range 500 {
		refuses(t, m, fmt.Sprintf("/workspace/group/pipe%d", i), mounts.CodeNotAFile)
	}
	for _, name := range []string{"link", "socket", "dir"} {
		refuses(t, m, "/workspace/group/"+name, mounts.CodeNotAFile)
	}
}

func TestDeviceIsRefused(t *testing.T) {
	g := newGround(t)
	// /dev/zero's numbers: it has size 0 and no end.
	err := unix.Mknod(filepath.Join(g.Workspace("family"), "zero"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5)))
	if err != nil {
		need.Lacking(t, "make devices: %v", err)
	}
	refuses(t, g.mounts(t, g.family), "/workspace/group/zero", mounts.CodeNotAFile)
}

func TestWhatIsMountedInsideIsRefused(t *testing.T) {
	g := newGround(t)
	ws := g.Workspace("family")
	inside := fstest.Mkdir(t, ws, "inside")
	other := fstest.Write(t, "theirs", g.Workspace("main"), "a.txt")
	file := fstest.Write(t, "mine", ws, "a.txt")
	// A bind mount has the same device number as what is around it.
	for source, target := range map[string]string{filepath.Dir(other): inside, other: file} {
		if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
			need.Lacking(t, "mount: %v", err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(target, unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
	m := g.mounts(t, g.family)
	refuses(t, m, "/workspace/group/inside/a.txt", mounts.CodeOtherDevice)
	refuses(t, m, "/workspace/group/a.txt", mounts.CodeOtherDevice)
}

// The agent of another user keeps its file, or a directory, to itself.
func TestUnreadableFileHasARemedy(t *testing.T) {
	g := newGround(t)
	ws := g.Workspace("family")
	private := fstest.Write(t, "x", ws, "private.txt")
	hidden := fstest.Write(t, "x", ws, "hidden/a.txt")
	for path, mode := range map[string]os.FileMode{private: 0, filepath.Dir(hidden): 0} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	for dir := ws; dir != filepath.Dir(dir) && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(hidden), 0o755) })
	m := g.mounts(t, g.family)
	if os.Geteuid() == 0 {
		// Root may read everything; this thread's file accesses no longer do.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if _, err := unix.SetfsuidRetUid(4242); err != nil {
			t.Fatal(err)
		}
		defer func() { _, _ = unix.SetfsuidRetUid(0) }()
	}
	refuses(t, m, "/workspace/group/private.txt", mounts.CodeUnreadable)
	refuses(t, m, "/workspace/group/hidden/a.txt", mounts.CodeUnreadable)
}

// Whoever holds a write lease on a file makes each open wait for up to 45 s.
func TestLeaseDoesNotMakeTheHostWait(t *testing.T) {
	g := newGround(t)
	path := fstest.Write(t, "x", g.Workspace("family"), "leased.txt")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		need.Lacking(t, "lease a file of its temporary directory: %v", err)
	}
	refuses(t, g.mounts(t, g.family), "/workspace/group/leased.txt", mounts.CodeFileBusy)
}

func TestDescriptorsAreClosed(t *testing.T) {
	g := newGround(t)
	ws := g.Workspace("family")
	fstest.Write(t, "x", ws, "a.txt")
	fstest.Write(t, "", ws, "empty.txt")
	fstest.Symlink(t, "a.txt", ws, "link")
	fstest.Symlink(t, "../x", ws, "away")
	fstest.Write(t, "x", g.Project, "p.txt")
	fstest.Write(t, "x", g.Project, ".env")
	fstest.Symlink(t, ".env", g.Project, "shadow")
	if err := unix.Mkfifo(filepath.Join(ws, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	paths := []string{
		"/workspace/group/a.txt", "/workspace/group/empty.txt", "/workspace/group/link", "/workspace/group/away",
		"/workspace/group/pipe", "/workspace/group/none", "/workspace/project/p.txt", "/workspace/project/shadow", "/workspace/extra/x/y",
	}
	before := descriptors(t)
	for _, group := range []groups.Group{g.family, g.main} {
		m, err := mounts.New(g.Layout, group)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			for _, p := range paths {
				if f, err := m.Open(p); err == nil {
					f.Close()
				}
				if f, _, err := m.Explain(p); err == nil {
					f.Close()
				}
			}
			if err := os.Rename(ws, ws+".old"); err != nil {
				t.Fatal(err)
			}
			m.Refresh()
			if err := os.Rename(ws+".old", ws); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors are open, %d were before", after, before)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

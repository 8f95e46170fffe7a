package mounts_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/internal/fstest"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/groups"
)

// race is an agent that exchanges one name for another, as fast as it can, so
// that path leads now to its own file and now to a secret.
type race struct {
	name string
	a, b string // host paths that change places
	path string // container path that is opened meanwhile
	host string // the same on the host, for the control
}

func races(t *testing.T, g *ground) []race {
	t.Helper()
	ws, leaf := g.Workspace("family"), g.IPC("family", "files")
	fstest.Write(t, "SECRET", g.Workspace("main"), "a.txt")
	fstest.Write(t, "mine", ws, "a.txt")
	fstest.Symlink(t, "../main/a.txt", ws, "leaf")
	fstest.Write(t, "mine", ws, "dir/a.txt")
	fstest.Symlink(t, "../main", ws, "link")
	fstest.Write(t, "mine", leaf, "a.txt")
	fstest.Symlink(t, g.Workspace("main"), leaf+".link")
	// Somebody exchanges a directory above a mount: for a link, and for another directory.
	above := fstest.Mkdir(t, filepath.Dir(g.extra), "above")
	for _, name := range []string{"link", "directory"} {
		g.family.Mounts = append(g.family.Mounts, groups.Extra{Name: name, Host: filepath.Join(above, name, "docs")})
		fstest.Write(t, "mine", above, name, "docs/a.txt")
	}
	fstest.Write(t, "SECRET", above, "other/docs/a.txt")
	fstest.Symlink(t, "other", above, "link.other")
	fstest.Write(t, "SECRET", above, "directory.other/docs/a.txt")
	return []race{
		{"leaf", filepath.Join(ws, "a.txt"), filepath.Join(ws, "leaf"), "/workspace/group/a.txt", filepath.Join(ws, "a.txt")},
		{"directory", filepath.Join(ws, "dir"), filepath.Join(ws, "link"), "/workspace/group/dir/a.txt", filepath.Join(ws, "dir/a.txt")},
		{"mounted directory", leaf, leaf + ".link", "/workspace/ipc/files/a.txt", filepath.Join(leaf, "a.txt")},
		{"link above a mount", filepath.Join(above, "link"), filepath.Join(above, "link.other"), "/workspace/extra/link/a.txt", filepath.Join(above, "link/docs/a.txt")},
		{"directory above a mount", filepath.Join(above, "directory"), filepath.Join(above, "directory.other"), "/workspace/extra/directory/a.txt", filepath.Join(above, "directory/docs/a.txt")},
	}
}

// run flips and opens until done says so. It gives up after five minutes.
func (r race) run(t *testing.T, open func() (io.ReadCloser, error), done func(tries, opened, leaks int) bool) (tries, opened, leaks int) {
	t.Helper()
	stop := make(chan struct{})
	var flips sync.WaitGroup
	flips.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, r.a, unix.AT_FDCWD, r.b, unix.RENAME_EXCHANGE); err != nil {
				t.Errorf("exchange: %v", err)
				return
			}
		}
	})
	defer flips.Wait()
	defer close(stop)
	for start := time.Now(); time.Since(start) < 5*time.Minute && !done(tries, opened, leaks); tries++ {
		f, err := open()
		if err != nil {
			continue
		}
		b, err := io.ReadAll(f)
		if err != nil {
			t.Errorf("read: %v", err)
		}
		f.Close()
		opened++
		if string(b) != "mine" {
			leaks++
		}
	}
	return tries, opened, leaks
}

// TOCTOU (CVE-2026-44112, CVE-2026-44113, CVE-2018-15664).
func TestRaceAgainstTheOpenerLeaksNothing(t *testing.T) { raceOpener(t, 10_000) }

// raceOpener runs each race for at least so many tries, until the agent has had its turn
// and the opener too: on a busy machine either may wait.
func raceOpener(t *testing.T, enough int) {
	g := newGround(t)
	all := races(t, g)
	m := g.mounts(t, g.family)
	for _, r := range all {
		t.Run(r.name, func(t *testing.T) {
			tries, opened, leaks := r.run(t, func() (io.ReadCloser, error) { return m.Open(r.path) }, func(tries, opened, _ int) bool {
				return tries >= enough && opened >= 100 && tries-opened >= 100
			})
			if leaks > 0 {
				t.Errorf("%d leaks in %d tries", leaks, tries)
			}
			if opened < 100 || tries-opened < 100 {
				t.Errorf("%d of %d tries opened the file: the attack was none", opened, tries)
			}
			t.Logf("%d tries, %d opened, %d leaks", tries, opened, leaks)
		})
	}
}

// The control: checks that look at a name and then open it must leak, or the
// test above proves nothing.
func TestRaceAgainstANaiveOpenerLeaks(t *testing.T) {
	g := newGround(t)
	for _, r := range races(t, g)[:2] {
		t.Run(r.name, func(t *testing.T) {
			tries, _, leaks := r.run(t, func() (io.ReadCloser, error) {
				return naiveOpen(g.Workspace("family"), r.host)
			}, func(_, _, leaks int) bool { return leaks > 0 })
			if leaks == 0 {
				t.Errorf("no leak in %d tries", tries)
			}
		})
	}
}

// naiveOpen looks, resolves, compares, opens.
func naiveOpen(root, path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || !strings.HasPrefix(real, root+"/") {
		return nil, os.ErrPermission
	}
	return os.Open(path)
}

package mounts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/internal/fstest"
	"github.com/longshore-bridge/longshore/internal/need"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/groups"
)

// withSecrets is a ground whose project has a .env, keys in the state directory
// and something that may be sent.
func withSecrets(t testing.TB, dir string) *ground {
	t.Helper()
	g := groundIn(t, dir)
	fstest.Write(t, "SECRET", g.Project, ".env")
	fstest.Write(t, "SECRET", g.Store(), "keys.db")
	fstest.Write(t, "SECRET", g.Workspace("family"), "a/b/report.pdf")
	fstest.Write(t, "fine", g.Project, "sub/report.pdf")
	fstest.Write(t, "fine", g.Project, "sub/.env")
	return g
}

// hides checks that no path below the project is opened, on this system's way
// and on that of others.
func hides(t testing.TB, m *mounts.Map, rels ...string) {
	t.Helper()
	for _, rel := range rels {
		p := "/workspace/project/" + rel
		refuses(t, m, p, mounts.CodePathShadowed)
		if err := m.OpenPortable(p); fstest.Code(err) != mounts.CodePathShadowed && fstest.Code(err) != mounts.CodePathEscapes {
			t.Errorf("the portable way: %s: %v, want it refused", rel, err)
		}
	}
}

// opens checks that paths below the project can be sent.
func opens(t testing.TB, m *mounts.Map, want string, rels ...string) {
	t.Helper()
	for _, rel := range rels {
		p := "/workspace/project/" + rel
		if got := content(t, m, p); got != want {
			t.Errorf("%s: %q, want %q", rel, got, want)
		}
		if err := m.OpenPortable(p); err != nil {
			t.Errorf("the portable way: %s: %v", rel, err)
		}
	}
}

// The same file under a name that has nothing of the hidden one.
func TestAShadowStaysWhereverWhatItHidesIsMoved(t *testing.T) {
	g := withSecrets(t, fstest.RealTemp(t))
	deep := groups.Layout{State: filepath.Join(g.Project, "a/b/state"), Project: g.Project}
	fstest.Mkdir(t, filepath.Dir(deep.State))
	rename(t, g.State, deep.State)
	g.Layout = deep
	m := g.mounts(t, g.main)
	m.Refresh() // as the host does when it starts
	rename(t, filepath.Join(g.Project, ".env"), filepath.Join(g.Project, "old.txt"))
	rename(t, filepath.Join(g.Project, "a"), filepath.Join(g.Project, "c"))
	hides(t, m, "old.txt", "c/b/state/store/keys.db", "c/b/state/groups/family/a/b/report.pdf")
	rename(t, filepath.Join(g.Project, "c/b/state/store"), filepath.Join(g.Project, "c/b/state/shop"))
	rename(t, filepath.Join(g.Project, "c/b/state"), filepath.Join(g.Project, "sub/estate"))
	hides(t, m, "sub/estate/shop/keys.db", "sub/estate/groups/family/a/b/report.pdf")
	opens(t, m, "fine", "sub/report.pdf")
}

func TestWhatAHiddenLinkLeadsToIsHidden(t *testing.T) {
	g := withSecrets(t, fstest.RealTemp(t))
	rename(t, filepath.Join(g.Project, ".env"), filepath.Join(g.Project, "sub/production"))
	fstest.Symlink(t, "sub/production", g.Project, ".env")
	fstest.Symlink(t, "sub", g.Project, "link")
	m := g.mounts(t, g.main)
	hides(t, m, ".env", "sub/production", "link/production")
	opens(t, m, "fine", "sub/report.pdf")
}

func TestHiddenThingsUnderSecondNames(t *testing.T) {
	g := withSecrets(t, fstest.RealTemp(t))
	if err := os.Link(filepath.Join(g.Project, ".env"), filepath.Join(g.Project, "hard")); err != nil {
		t.Fatal(err)
	}
	bound, file := fstest.Mkdir(t, g.Project, "bound"), fstest.Write(t, "fine", g.Project, "file")
	m := g.mounts(t, g.main)
	refuses(t, m, "/workspace/project/hard", mounts.CodeHardLink)
	if err := m.OpenPortable("/workspace/project/hard"); err == nil {
		t.Error("the portable way opens a second name")
	}
	if err := os.Remove(filepath.Join(g.Project, "hard")); err != nil {
		t.Fatal(err)
	}
	for source, target := range map[string]string{g.State: bound, filepath.Join(g.Project, ".env"): file} {
		if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
			need.Lacking(t, "mount: %v", err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(target, unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
	for _, rel := range []string{"file", "bound/store/keys.db"} {
		refuses(t, m, "/workspace/project/"+rel, mounts.CodeOtherDevice)
		// A bound file has the device number of what is around it.
		if err := m.OpenPortable("/workspace/project/" + rel); fstest.Code(err) != mounts.CodePathShadowed {
			t.Errorf("the portable way: %s: %v", rel, err)
		}
	}
}

// What does not exist yet has no inode: its name is refused, as any file system
// may spell it.
func TestAShadowOfWhatDoesNotExistYetCoversItsSpellings(t *testing.T) {
	g := groundIn(t, fstest.RealTemp(t))
	g.State = filepath.Join(g.Project, "Straße Ko\u0308ln/state") // made by nobody
	for _, name := range []string{".ENV", ".env.", ".e\u200bnv", ".env:stream", "STRAßE K\u00f6LN/\u017ftate/keys.db", "straße Köln/STATE./keys.db"} {
		fstest.Write(t, "SECRET", g.Project, name)
	}
	for _, name := range []string{".environment", "env", "straße Köln/estate/a", "sub/.ENV", ".env-example"} {
		fstest.Write(t, "fine", g.Project, name)
	}
	m := g.mounts(t, g.main)
	hides(t, m, ".ENV", ".env.", ".e\u200bnv", ".env:stream", "STRAßE K\u00f6LN/\u017ftate/keys.db", "straße Köln/STATE./keys.db")
	opens(t, m, "fine", ".environment", "env", "straße Köln/estate/a", "sub/.ENV", ".env-example")
}

// An editor writes another file and renames it over the secret. Its new number
// is hidden from then on, and the old one is free for any other file.
func TestASecretThatIsReplacedHidesNothingElse(t *testing.T) {
	g := withSecrets(t, fstest.RealTemp(t))
	fstest.Symlink(t, ".env", g.Project, "link")
	m := g.mounts(t, g.main)
	for i := range 50 {
		hides(t, m, ".env", "link")
		rename(t, fstest.Write(t, "SECRET", g.Project, ".env.new"), filepath.Join(g.Project, ".env"))
		hides(t, m, "link")
		name := fmt.Sprintf("file%d", i)
		fstest.Write(t, "fine", g.Project, name)
		opens(t, m, "fine", name)
	}
}

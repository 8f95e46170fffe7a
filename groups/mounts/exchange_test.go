package mounts_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/internal/fstest"
)

func rename(t testing.TB, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// mv docs docs.old; mkdir docs: the container still sees the old directory,
// and the host sent from the new one.
func TestAnExchangedMountIsMissing(t *testing.T) {
	for _, tt := range []struct {
		name string
		dir  func(*ground) string
		main bool
		at   string
	}{
		{"an extra mount", func(g *ground) string { return g.extra }, false, "/workspace/extra/photos/a.txt"},
		{"the project", func(g *ground) string { return g.Project }, true, "/workspace/project/a.txt"},
	} {
		for _, opened := range []bool{true, false} {
			t.Run(tt.name, func(t *testing.T) {
				g := newGround(t)
				group, dir := g.family, tt.dir(g)
				if tt.main {
					group = g.main
				}
				fstest.Write(t, "old", dir, "a.txt")
				m := g.mounts(t, group)
				if opened && content(t, m, tt.at) != "old" {
					t.Fatal("the file is another")
				}
				rename(t, dir, dir+".old")
				refuses(t, m, tt.at, mounts.CodeMountMissing)
				fstest.Write(t, "new", dir, "a.txt")
				refuses(t, m, tt.at, mounts.CodeMountMissing)
				if got := content(t, g.mounts(t, group), tt.at); got != "new" {
					t.Errorf("after a restart: %q, want new", got)
				}
				rename(t, dir, dir+".new")
				rename(t, dir+".old", dir)
				if got := content(t, m, tt.at); got != "old" {
					t.Errorf("after it was put back: %q, want old", got)
				}
			})
		}
	}
}

// A directory that is not there at the start, such as one of a disk that is
// attached later, is taken when it comes.
func TestAMountThatComesLaterIsTakenOnce(t *testing.T) {
	g := newGround(t)
	rename(t, g.extra, g.extra+".old")
	m := g.mounts(t, g.family)
	refuses(t, m, "/workspace/extra/photos/a.txt", mounts.CodeMountMissing)
	fstest.Write(t, "first", g.extra, "a.txt")
	if got := content(t, m, "/workspace/extra/photos/a.txt"); got != "first" {
		t.Errorf("content %q, want first", got)
	}
	rename(t, g.extra, g.extra+".first")
	fstest.Write(t, "second", g.extra, "a.txt")
	refuses(t, m, "/workspace/extra/photos/a.txt", mounts.CodeMountMissing)
}

// Somebody who may write above a mount replaces a directory on the way by a
// link; the host followed it, as long as the mount's own name was no link.
func TestALinkOnTheWayToAMountIsNotFollowed(t *testing.T) {
	g := newGround(t)
	dir := filepath.Dir(g.Project)
	way := filepath.Join(dir, "shared/team")
	fstest.Write(t, "photo", way, "photos/a.txt")
	fstest.Write(t, "SECRET", dir, "elsewhere/photos/a.txt")
	g.family.Mounts[0].Host = filepath.Join(way, "photos")
	const at = "/workspace/extra/photos/a.txt"
	for _, opened := range []bool{true, false} {
		m := g.mounts(t, g.family)
		if opened && content(t, m, at) != "photo" {
			t.Fatal("the file is another")
		}
		rename(t, way, way+".old")
		for _, target := range []string{"../elsewhere", filepath.Join(dir, "elsewhere"), "team.old"} {
			fstest.Symlink(t, target, way)
			refuses(t, m, at, mounts.CodeMountMissing)
			m.Refresh()
			refuses(t, m, at, mounts.CodeMountMissing)
			if err := os.Remove(way); err != nil {
				t.Fatal(err)
			}
		}
		rename(t, way+".old", way)
		if got := content(t, m, at); got != "photo" {
			t.Errorf("after it was put back: %q, want photo", got)
		}
	}
	// Nor is the way to a group's own directories.
	m := g.mounts(t, g.family)
	fstest.Write(t, "mine", g.Workspace("family"), "a.txt")
	fstest.Write(t, "SECRET", dir, "groups/family/a.txt")
	rename(t, g.Groups(), g.Groups()+".old")
	fstest.Symlink(t, filepath.Join(dir, "groups"), g.Groups())
	refuses(t, m, "/workspace/group/a.txt", mounts.CodeMountMissing)
}

package config_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/internal/fstest"
)

// The link of a deployment: what it leads to at the start is what the container
// gets and what is sent, wherever the link leads later.
func TestLinksToAMountAreResolvedOnceAtLoad(t *testing.T) {
	base := fstest.RealTemp(t)
	dir := fstest.Mkdir(t, base, "etc")
	fstest.Write(t, "first", base, "releases/1/docs/a.txt")
	fstest.Write(t, "second", base, "releases/2/docs/a.txt")
	fstest.Symlink(t, "releases/1", base, "current")
	cfg, err := parse(t, dir, mountOf("../current/docs", ".."))
	if err != nil {
		t.Fatal(err)
	}
	m, err := mounts.New(cfg.Layout(), cfg.Groups[0])
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := os.Remove(filepath.Join(base, "current")); err != nil {
		t.Fatal(err)
	}
	fstest.Symlink(t, "releases/2", base, "current")
	want := mounts.Mount{Container: "/workspace/extra/x", Host: filepath.Join(base, "releases/1/docs"), ReadOnly: true}
	if all := m.Mounts(); all[len(all)-1] != want {
		t.Errorf("the container gets %+v, want %+v", all[len(all)-1], want)
	}
	f, err := m.Open("/workspace/extra/x/a.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := io.ReadAll(f); err != nil || string(got) != "first" {
		t.Errorf("%q is sent, %v; want first", got, err)
	}
}

//go:build linux

package mounts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
)

// TestALinkHidTheNamesOnItsWay: an open file has all of them.
func TestALinkHidTheNamesOnItsWay(t *testing.T) {
	l := groups.Layout{State: t.TempDir()}
	g := groups.Group{Name: "Family", Folder: "family", Chat: "mem:family"}
	if err := l.Prepare([]groups.Group{g}); err != nil {
		t.Fatal(err)
	}
	m, err := mounts.New(l, g)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	at := func(name string) string { return filepath.Join(l.Workspace("family"), name) }
	for _, err := range []error{
		os.MkdirAll(at("stuff/deep"), 0o755), os.WriteFile(at("stuff/deep/work"), []byte("x"), 0o644), os.WriteFile(at(".env"), []byte("x"), 0o644),
		os.Symlink("stuff", at(".ssh")), os.Symlink(".ssh", at("keys")), os.Symlink(".env", at("photo.jpg")), os.Symlink("/workspace/group/photo.jpg", at("again.jpg")),
		os.Symlink("../../.env", at("stuff/deep/up")), os.Symlink("loop", at("loop")), syscall.Mkfifo(at("pipe"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	const in = "/workspace/group/"
	for name, want := range map[string][]string{
		"stuff/deep/work": {"stuff/deep/work"},
		"keys/deep/work":  {"keys/deep/work", ".ssh/deep/work", "stuff/deep/work"},
		"photo.jpg":       {"photo.jpg", ".env", ".env"},
		"again.jpg":       {"again.jpg", "photo.jpg", ".env", ".env"},
		"keys/deep/up":    {"keys/deep/up", ".ssh/deep/up", "stuff/deep/up", ".env", ".env"},
	} {
		f, err := m.Open(in + name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f.Close()
		for i := range want {
			want[i] = in + want[i]
		}
		if diff := cmp.Diff(want, f.Names); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, name := range []string{"loop", "loop/x", "pipe", "pipe/x", strings.Repeat("stuff/", 600) + "x"} {
		if _, err := m.Open(in + name); err == nil {
			t.Errorf("%.40s was opened", name)
		}
	}
	// A chain of directories and links is looked at once for each link.
	dir := ""
	for range 200 {
		dir += "d/"
	}
	if err := os.MkdirAll(at(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at(dir+"f"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for n := range 8 {
		target := fmt.Sprintf("l%d", n-1)
		if n == 0 {
			target = "d"
		}
		if err := os.Symlink(target, at(fmt.Sprintf("l%d", n))); err != nil {
			t.Fatal(err)
		}
	}
	f, err := m.Open(in + "l5" + strings.TrimPrefix(dir, "d") + "f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if own := f.Names[len(f.Names)-1]; len(f.Names) != 7 || own != in+dir+"f" {
		t.Errorf("%d names, the last one is %.60s", len(f.Names), own)
	}
}

package spool

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/ipc"
)

// TestRequestsKeepTheirOrderIfTheHostHasNoDescriptorLeft: a request that could not be
// opened once let those behind it go first.
func TestRequestsKeepTheirOrderIfTheHostHasNoDescriptorLeft(t *testing.T) {
	dir := t.TempDir()
	messages := filepath.Join(dir, "family", ipc.MessagesDir)
	if err := os.MkdirAll(messages, 0o755); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 4 {
		id := fmt.Sprint(i)
		if err := os.WriteFile(filepath.Join(messages, id+ipc.Suffix), []byte(`{"type":"message","text":"x"}`), 0o644); err != nil {
			t.Fatal(err)
		}
		want = append(want, id+ipc.Suffix)
	}
	s := New(Options{Dir: dir, Folders: []string{"family"}, Poll: true})
	defer s.Close()
	g := s.groups.Load().byFolder["family"]
	g.dirty, g.size = true, 1
	if b := s.batch(g); len(b.Items) != 1 {
		t.Fatalf("read %d requests", len(b.Items))
	}
	g.size = 3
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	b := s.batch(g)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want[1:], b.later); diff != "" || len(b.Items) > 0 {
		t.Errorf("%d read; those that wait: %s", len(b.Items), diff)
	}
}

// TestTheContextsOfManyGroupsTookAllDescriptors: each kept the directories of its group open
// until the next rescan, two for each of ten thousand groups.
func TestTheContextsOfManyGroupsTookAllDescriptors(t *testing.T) {
	var folders []string
	for i := range 3 * maxOpen {
		folders = append(folders, fmt.Sprint("g", i))
	}
	s := New(Options{Dir: prepareFast(t, folders...), Folders: folders, Poll: true})
	defer s.Close()
	for range 2 { // again, when they are open already
		for _, folder := range folders {
			if err := s.WriteContext(folder, ipc.Context{Folder: folder}); err != nil {
				t.Fatal(err)
			}
		}
		if open := s.groups.Load().byFolder["g0"].dirs.base.open.Load(); open > maxOpen {
			t.Errorf("the directories of %d groups stay open", open)
		}
	}
	for _, g := range s.all() {
		g.dirs.close()
	}
	if open := s.groups.Load().byFolder["g0"].dirs.base.open.Load(); open != 0 {
		t.Errorf("the directories of %d groups are counted as open", open)
	}
}

package spool

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
)

// TestDirectoriesNestedByTheThousandCostNoDescriptors has a container build a
// tower of directories where the host clears up. A removal that goes down it
// holds a descriptor for each level, and the host has none left for others.
func TestDirectoriesNestedByTheThousandCostNoDescriptors(t *testing.T) {
	const levels = 500
	dir := prepare(t, "fam")
	s := New(Options{Dir: dir, Folders: []string{"fam"}})
	defer s.Close()
	long := time.Now().Add(-2 * stagedAge)
	for _, name := range []string{"0190", "0191"} {
		tower := filepath.Join(dir, "fam", ipc.FilesDir, name)
		pile(t, tower, levels)
		if err := os.Chtimes(tower, long, long); err != nil {
			t.Fatal(err)
		}
	}
	old := filepath.Join(dir, "fam", ipc.FilesDir, "0192")
	if err := os.Mkdir(old, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(old, "report.pdf"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	pile(t, filepath.Join(dir, "fam", ipc.ResultsDir, "a.json"), levels)

	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	few := before
	few.Cur = uint64(len(entries) + 60)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Fatal(err)
		}
	}()
	err = s.all()["fam"].dirs.in(inFiles, func(dir *os.Root) error { return removeTree(dir, "0190") })
	if err != errLargeTree {
		t.Errorf("the tower: %v", err)
	}
	s.pruneGroup(s.all()["fam"])
	if _, err := os.Lstat(old); !os.IsNotExist(err) {
		t.Errorf("what lay beside the tower: %v", err)
	}
	if err := s.WriteResult("fam", ipc.Result{ID: "a", Status: ipc.Sent}); err != nil {
		t.Errorf("a tower in a file's place: %v", err)
	}
}

// pile makes directories in one another.
func pile(t *testing.T, dir string, levels int) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for range levels {
		dir = filepath.Join(dir, "d")
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
}

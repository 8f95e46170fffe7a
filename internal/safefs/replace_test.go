package safefs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// Two commands that added a group at once both said so, and one group was lost.
func TestOfTwoWhoReplaceAFileOneOverwroteTheOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "longshore.yaml")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var done atomic.Int32
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			was, err := os.ReadFile(path)
			if err == nil {
				err = Replace(path, was, fmt.Appendf(was[:len(was):len(was)], "group %d\n", i))
			}
			if err == nil {
				done.Add(1)
			} else if !errors.Is(err, ErrChanged) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(path)
	if n := strings.Count(string(text), "\n"); err != nil || n == 0 || n != int(done.Load()) {
		t.Errorf("%d lines of %d, %v", n, done.Load(), err)
	}
}

// Root's command left a file that the service's user could not read any more, and a link
// became a file beside the one that it led to.
func TestAReplacedFileKeepsItsOwnerAndItsLink(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.yaml"), filepath.Join(dir, "longshore.yaml")
	if err := errors.Join(os.WriteFile(real, []byte("old"), 0o640), os.Symlink("real.yaml", link)); err != nil {
		t.Fatal(err)
	}
	owner := os.Getegid()
	if os.Geteuid() == 0 {
		owner = 65534
		if err := os.Chown(real, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	if err := Replace(link, []byte("old"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); to != "real.yaml" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	text, err := os.ReadFile(real)
	info, err2 := os.Stat(real)
	if err := errors.Join(err, err2); err != nil || string(text) != "new" || info.Mode() != 0o640 || int(info.Sys().(*syscall.Stat_t).Gid) != owner {
		t.Errorf("%q, %+v, %v", text, info, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left %v, %v", left, err)
	}
}

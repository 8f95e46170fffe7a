package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
)

// A file of eight terabytes without data, in a workspace, kept a backup from ever ending.
func TestAFileOfHolesKeptABackupFromEnding(t *testing.T) {
	o := Options{Layout: groups.Layout{State: t.TempDir()}}
	to := t.TempDir()
	workspace := filepath.Join(o.Layout.State, "groups", "a")
	if err := os.MkdirAll(workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	sparse := func(name string, size int64, data string) string {
		path := filepath.Join(workspace, name)
		f, err := os.Create(path)
		if err == nil {
			_, err = f.WriteAt([]byte(data), size/2)
		}
		if err == nil {
			err = errors.Join(f.Truncate(size), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	sparse("huge", 8<<40, "x")
	path := sparse("disk", 8<<20, "data between two holes")
	c := newCopier(t.Context(), o, to)
	if err := c.pass(false); err != nil {
		t.Fatal(err)
	}
	if len(c.unread) != 0 || len(c.sparse) != 1 || c.sparse[0] != "groups/a/huge" {
		t.Errorf("left out: %v, and for holes %v", c.unread, c.sparse)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(to, "groups/a/disk"))
	if sum := sha256.Sum256(want); err != nil || !bytes.Equal(got, want) || c.all["groups/a/disk"].SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("a file with holes is another one in the backup: %v", err)
	}
	if left := *c.share("groups/a/disk"); left >= mostHoles || left < mostHoles-8<<20 {
		t.Errorf("%d bytes of holes were hashed", mostHoles-left)
	}
}

// One group's files of holes used up what another group's backup may have of them.
func TestAGroupsHolesTookAnotherGroupsFileOutOfTheBackup(t *testing.T) {
	for _, l := range []groups.Layout{{State: t.TempDir()}, {State: t.TempDir(), V1: true}} {
		c := newCopier(t.Context(), Options{Layout: l}, t.TempDir())
		for _, dir := range []string{l.Workspace("club"), filepath.Join(l.Homes(), "club"), filepath.Join(l.Logs(), "club"), l.IPC("club", "files"), l.Place("club", 1)} {
			*c.share(c.rel(filepath.Join(dir, "deep", "a1"))) -= 10 << 30
		}
		if left := *c.share(c.rel(filepath.Join(l.Workspace("club"), "a2"))); left != 14<<30 {
			t.Errorf("the group itself has %d left", left)
		}
		for _, path := range []string{filepath.Join(l.Workspace("family"), "vm.img"), filepath.Join(l.State, "outbox", "files", "x")} {
			if left := *c.share(c.rel(path)); left != mostHoles {
				t.Errorf("%s has %d left", path, left)
			}
		}
	}
}

// A file that is opened while the stores are frozen, and copied later, must not end the
// backup either.
func TestAFileOfHolesThatIsHeldEndedTheBackup(t *testing.T) {
	o := Options{Layout: groups.Layout{State: t.TempDir()}}
	f, err := os.Create(filepath.Join(o.Layout.State, "huge"))
	if err == nil {
		err = errors.Join(f.Truncate(8<<40), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	c := newCopier(t.Context(), o, t.TempDir())
	c.keepOpen = true
	if err := errors.Join(c.pass(true), c.copyOpened(), c.release()); err != nil {
		t.Fatal(err)
	}
	if len(c.sparse) != 1 || len(c.all) != 1 { // the directory
		t.Errorf("left out %v of %d", c.sparse, len(c.all))
	}
}

// Whatever the layout of the holes, the hash is that of all bytes.
func TestTheHashOfAFileWithHolesIsThatOfItsBytes(t *testing.T) {
	for name, write := range map[string]func(*os.File) error{
		"empty":          func(*os.File) error { return nil },
		"only a hole":    func(f *os.File) error { return f.Truncate(chunk*3 + 5) },
		"hole then data": func(f *os.File) error { _, err := f.WriteAt([]byte("x"), chunk*3+5); return err },
		"data then hole": func(f *os.File) error {
			_, err := f.WriteAt(bytes.Repeat([]byte("x"), chunk+1), 0)
			return errors.Join(err, f.Truncate(chunk*4))
		},
	} {
		f, err := os.Create(filepath.Join(t.TempDir(), "f"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := write(f); err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		want := sha256.Sum256(all)
		if sha, size, err := sum(t.Context(), f); err != nil || size != int64(len(all)) || sha != hex.EncodeToString(want[:]) {
			t.Errorf("%s: %d of %d bytes, %v", name, size, len(all), err)
		}
	}
}

// A backup of 100,000 small blobs made and cleared 50 GB of buffers.
func TestASmallFileWasReadWithALargeBuffer(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("small"); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		if _, _, err := sum(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / 100; each > 16<<10 {
		t.Errorf("%d bytes for a file of 5", each)
	}
}

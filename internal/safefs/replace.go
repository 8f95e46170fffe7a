package safefs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrChanged says that a file is another one than its reader has read.
var ErrChanged = errors.New("the file was changed meanwhile")

// lockTime is how long Replace waits for another Replace, which takes milliseconds.
const lockTime = 5 * time.Second

// Replace writes a file that an operator edits too: only if it still holds was, and whole or
// not at all. The file keeps its mode, owner and group, and if path is a link, the file that
// it leads to is replaced. Of several at once one succeeds; for the others the error is ErrChanged.
func Replace(path string, was, data []byte) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	dir, err := os.Open(asDir(filepath.Dir(path)))
	if err != nil {
		return err
	}
	defer dir.Close() // which unlocks it
	if err := lockFor(dir, lockTime); err != nil {
		return err
	}
	now, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, was) {
		return ErrChanged
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	tmp, err := writeTemp(path, data, info.Mode().Perm(), true)
	if err != nil {
		return err
	}
	err = sameOwner(tmp, info)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return SyncDir(filepath.Dir(path))
}

// sameOwner gives a new file the owner and the group of an old one.
func sameOwner(path string, old os.FileInfo) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	want, ok2 := old.Sys().(*syscall.Stat_t)
	if !ok || !ok2 || is.Uid == want.Uid && is.Gid == want.Gid {
		return nil
	}
	if err := os.Chown(path, int(want.Uid), int(want.Gid)); err != nil {
		return fmt.Errorf("%w; the file has another owner or group: do it as its owner", err)
	}
	return os.Chmod(path, old.Mode().Perm()) // which chown may have changed
}

func lockFor(f *os.File, most time.Duration) error {
	for end := time.Now().Add(most); ; time.Sleep(10 * time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) || time.Now().After(end) {
			return err
		}
	}
}

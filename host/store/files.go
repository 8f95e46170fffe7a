package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// replace writes a whole file, mode 0600; the file is durable on return. It
// creates the directory.
func replace(path string, data []byte) error {
	if err := makeDir(filepath.Dir(path)); err != nil {
		return err
	}
	return safefs.WriteFile(path, data, 0o600)
}

// makeDir durably creates a directory that only the host's user may enter.
func makeDir(dir string) error {
	if fi, err := os.Stat(dir); err == nil && fi.IsDir() {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return safefs.SyncDir(filepath.Dir(dir))
}

// Size returns the bytes of a file, or of all files below a directory.
func Size(path string) int64 { return total(path, fs.FileInfo.Size) }

// Allocated returns how much of the disk a file or a directory takes, in bytes. It is
// less than Size for a sparse file.
func Allocated(path string) int64 {
	return total(path, func(fi fs.FileInfo) int64 {
		if st, ok := fi.Sys().(*syscall.Stat_t); ok {
			return st.Blocks * 512
		}
		return 0
	})
}

// total adds up the plain files at a path. What cannot be read counts as nothing.
func total(path string, of func(fs.FileInfo) int64) (n int64) {
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if fi, err := e.Info(); err == nil && fi.Mode().IsRegular() {
			n += of(fi)
		}
		return nil
	})
	return n
}

// move renames, and explains the error if the target is on another file system.
func move(from, to string) error {
	err := os.Rename(from, to)
	if errors.Is(err, unix.EXDEV) {
		return fmt.Errorf("%s is on another file system than %s; move it by hand", from, filepath.Dir(to))
	}
	return err
}

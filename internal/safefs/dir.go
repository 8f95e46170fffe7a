package safefs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// User is the owner of a file.
type User struct{ UID, GID int }

// Self returns the user of this process.
func Self() User { return User{os.Geteuid(), os.Getegid()} }

// OpenDir opens a directory below parent, in a place where an assistant may
// write. It must be a real directory: a link would lead every later action
// elsewhere. Errors have the whole path. The caller closes it.
func OpenDir(parent *os.Root, name string) (_ *os.Root, err error) {
	defer func() { err = whole(parent, err) }()
	before, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, noDirectory(parent, name)
	}
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	after, err := dir.Stat(".")
	if err == nil && !os.SameFile(before, after) {
		err = fmt.Errorf("%s was exchanged while it was opened", name)
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// MakeDir creates a directory below parent. An existing directory keeps its
// mode and owner. A new one gets mode, whatever the umask is, and belongs to
// owner. Anything else in its place, even a link, is an error. Errors have the whole path.
func MakeDir(parent *os.Root, name string, mode fs.FileMode, owner User) (err error) {
	defer func() { err = whole(parent, err) }()
	info, err := parent.Lstat(name) // first, because it usually exists
	if errors.Is(err, fs.ErrNotExist) {
		if err = parent.Mkdir(name, mode); err == nil {
			return handOver(parent, name, mode, owner)
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		info, err = parent.Lstat(name) // another process was faster
	}
	if err == nil && !info.IsDir() {
		err = noDirectory(parent, name)
	}
	return err
}

// handOver sets a new directory's mode and owner through a descriptor that
// nobody can exchange.
func handOver(parent *os.Root, name string, mode fs.FileMode, owner User) error {
	dir, err := OpenDir(parent, name)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Chmod(".", mode); err != nil {
		return err
	}
	if owner == Self() {
		return nil
	}
	return dir.Chown(".", owner.UID, owner.GID)
}

func noDirectory(parent *os.Root, name string) error {
	return fmt.Errorf("%s is no directory; move it away: %w", filepath.Join(parent.Name(), name), syscall.ENOTDIR)
}

// whole adds the directory to an error of a Root, which has the path below it.
func whole(parent *os.Root, err error) error {
	if cause, ok := errors.AsType[*fs.PathError](err); ok && !filepath.IsAbs(cause.Path) {
		return &fs.PathError{Op: cause.Op, Path: filepath.Join(parent.Name(), cause.Path), Err: cause.Err}
	}
	return err
}

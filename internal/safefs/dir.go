package safefs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// User owns a file.
type User struct{ UID, GID int }

// Self is the user that this process acts as.
func Self() User { return User{os.Geteuid(), os.Getegid()} }

// OpenDir opens a directory below parent in a place where an assistant
// may write. It must be a real directory: a link in its place would lead
// everything that is done in it elsewhere. The caller closes it.
func OpenDir(parent *os.Root, name string) (*os.Root, error) {
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

// MakeDir makes a directory below parent unless one is there, which then keeps
// its mode and owner. The mode does not depend on the umask. A new directory
// belongs to owner. Anything else in its place, a link too, is an error.
func MakeDir(parent *os.Root, name string, mode fs.FileMode, owner User) error {
	info, err := parent.Lstat(name) // first, because as a rule it is there
	if errors.Is(err, fs.ErrNotExist) {
		if err = parent.Mkdir(name, mode); err == nil {
			return handOver(parent, name, mode, owner)
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		info, err = parent.Lstat(name) // somebody was faster
	}
	if err == nil && !info.IsDir() {
		err = noDirectory(parent, name)
	}
	return err
}

// handOver gives a new directory its mode and owner by a handle that nobody
// can exchange.
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

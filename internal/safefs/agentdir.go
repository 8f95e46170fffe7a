package safefs

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// OpenDirAt is OpenDir for a path whose parent an assistant may not write to.
func OpenDirAt(path string) (*os.Root, error) {
	parent, err := OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	return OpenDir(parent, filepath.Base(path))
}

// CreateNew creates a file for an assistant, its owner. The file must not exist yet, not even as a link.
func CreateNew(root *os.Root, name string, owner User) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, err
	}
	err = f.Chmod(0o644) // the umask may have taken bits away
	if err == nil && owner.UID != os.Geteuid() {
		err = f.Chown(owner.UID, owner.GID)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), root.Remove(name))
	}
	return f, nil
}

package assistant

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/longshore-bridge/longshore/groups"
)

// openDir opens a directory that an agent may write in, by its parent, which
// it may not. The directory must be a real one: a link planted in its place
// would lead every later write elsewhere.
func openDir(path string) (*os.Root, error) {
	parent, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	return openChild(parent, filepath.Base(path))
}

// openChild opens a real directory below root. What Lstat saw must be what was
// opened, or somebody exchanged it meanwhile.
func openChild(root *os.Root, name string) (*os.Root, error) {
	before, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, fmt.Errorf("%s is no directory: %w", name, syscall.ENOTDIR)
	}
	child, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	after, err := child.Stat(".")
	if err == nil && !os.SameFile(before, after) {
		err = fmt.Errorf("%s was exchanged while it was opened", name)
	}
	if err != nil {
		child.Close()
		return nil, err
	}
	return child, nil
}

// createNew makes a file that must not exist yet, not even as a link, and
// hands it to the user that assistants run as.
func createNew(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, err
	}
	err = f.Chmod(0o644) // the umask may have taken bits away
	if uid, gid := groups.AgentUser(); err == nil && uid != os.Geteuid() {
		err = f.Chown(uid, gid)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), root.Remove(name))
	}
	return f, nil
}

// makeChild makes a directory of the assistant's where there is none, and
// opens it.
func makeChild(root *os.Root, name string) (*os.Root, error) {
	err := root.Mkdir(name, 0o755)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	made := err == nil
	child, err := openChild(root, name)
	if err != nil || !made {
		return child, err
	}
	if uid, gid := groups.AgentUser(); uid != os.Geteuid() {
		dir, err := child.Open(".")
		if err == nil {
			err = errors.Join(dir.Chown(uid, gid), dir.Close())
		}
		if err != nil {
			child.Close()
			return nil, err
		}
	}
	return child, nil
}

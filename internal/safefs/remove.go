package safefs

import (
	"os"
	"path/filepath"
)

// RemoveTree removes a directory with its content, even directories in which
// their owner may not write, such as those of Go's module cache. It is no error
// if there is none.
func RemoveTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	parent, err := OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	unlock(parent, filepath.Base(dir))
	return os.RemoveAll(dir)
}

// unlock gives the owner all rights on a directory and on those below it. What it
// cannot open stays as it is, and RemoveTree returns the error.
func unlock(parent *os.Root, name string) {
	_ = parent.Chmod(name, 0o700)
	dir, err := OpenDir(parent, name)
	if err != nil {
		return
	}
	defer dir.Close()
	list, err := dir.Open(".")
	if err != nil {
		return
	}
	entries, _ := list.ReadDir(-1)
	list.Close()
	for _, e := range entries {
		if e.IsDir() {
			unlock(dir, e.Name())
		}
	}
}

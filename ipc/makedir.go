package ipc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// modeOf is for a host and a container that are different users. Whoever is
// in the container creates in messages and files, and the host, which owns
// them, may unlink there whatever the sticky bit says. In input the container
// deletes what the host wrote, so it cannot be sticky. Results and context are
// the host's alone. Nobody else on the machine reaches any of them: the queue
// directory above is closed.
func modeOf(p place) fs.FileMode {
	switch p {
	case inMessages, inFiles:
		return 0o777 | fs.ModeSticky
	case inInput:
		return 0o777
	default:
		return 0o755
	}
}

// makeDir creates a directory with a mode that no umask narrows, unless one
// is there.
func makeDir(parent *os.Root, name string, mode fs.FileMode) error {
	err := parent.Mkdir(name, 0o700)
	if errors.Is(err, fs.ErrExist) {
		info, err := parent.Lstat(name)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s: %w", name, errNotDirectory)
		}
		return err
	}
	if err != nil {
		return err
	}
	dir, err := openReal(parent, name)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Chmod(".", mode)
}

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

// Prepare creates the queue directory and those of each group where they are
// missing. What exists keeps its mode, as an operator or NanoClaw v1 chose it,
// but has to be a real directory.
func Prepare(dir string, folders []string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("prepare queue: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("prepare queue: %w", err)
	}
	defer root.Close()
	if err := makeDir(root, ErrorsDir, 0o700); err != nil {
		return fmt.Errorf("prepare queue: %w", err)
	}
	for _, folder := range folders {
		if err := prepareGroup(root, folder); err != nil {
			return fmt.Errorf("prepare queue of %s: %w", folder, err)
		}
	}
	return nil
}

func prepareGroup(root *os.Root, folder string) error {
	if !ValidID(folder) || folder == ErrorsDir {
		return errors.New("not a folder's name")
	}
	if err := makeDir(root, folder, 0o755); err != nil {
		return err
	}
	group, err := openReal(root, folder)
	if err != nil {
		return err
	}
	defer group.Close()
	for p := range places {
		if err := makeDir(group, p.String(), modeOf(p)); err != nil {
			return err
		}
	}
	return nil
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

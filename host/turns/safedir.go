package turns

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

// openDir opens a directory that an agent may write to, through its parent, which the
// agent may not write to.
func openDir(path string) (*os.Root, error) {
	parent, err := safefs.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	return safefs.OpenDir(parent, filepath.Base(path))
}

// createNew creates a file that must not exist yet, not even as a link, and gives it to
// the user that assistants run as.
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

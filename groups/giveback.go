package groups

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// GiveBack lets the owner of a group's own directories enter and use them
// again, as Lockable lists them. It returns the directories on which rights were missing.
//
// Nothing is done to one that is missing, that is no directory, or that
// belongs neither to AgentUser nor to the host: that is the operator's to mend.
// No link is followed. The error joins what could not be given back.
func (l Layout) GiveBack(folder string) (given []string, err error) {
	if err := CheckFolder(folder); err != nil {
		return nil, fmt.Errorf("give rights back: %w", err)
	}
	var errs []error
	for _, dir := range l.Lockable(folder) {
		lacked, err := giveBackBelow(filepath.Dir(dir), filepath.Base(dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("give rights on %s back: %w", dir, err))
		}
		if lacked {
			given = append(given, dir)
		}
	}
	return given, errors.Join(errs...)
}

// Lockable are a group's workspace, its home and the leaves of its queue that its assistant may
// write to. An assistant can take its user's rights on them away, and would then lock itself
// out, and a host that runs as its user too.
func (l Layout) Lockable(folder string) []string {
	dirs := []string{l.Workspace(folder), filepath.Join(l.Homes(), folder)}
	writable := IPCWritable
	if l.V1 { // whose agents own what the leaves lie in
		dirs = append(dirs, l.Session(folder), l.IPC(folder, ""))
		writable = append(slices.Clone(writable), V1Tasks)
	}
	for _, leaf := range writable {
		dirs = append(dirs, l.IPC(folder, leaf))
	}
	return dirs
}

func giveBackBelow(parent, name string) (bool, error) {
	root, err := safefs.OpenRoot(parent)
	if err != nil {
		return false, err
	}
	defer func() { _ = root.Close() }()
	return giveBack(root, name)
}

// lacksRights says whether a directory's owner is one of ours and may not use it.
func lacksRights(info fs.FileInfo, owner uint32) bool {
	uid, _ := AgentUser()
	ours := int(owner) == uid || int(owner) == os.Geteuid()
	return info.IsDir() && ours && info.Mode().Perm()&0o700 != 0o700
}

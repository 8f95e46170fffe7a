package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/store"
)

// Fix mends what can be mended without asking anybody: it takes the right to write the
// configuration and the state directory from others, and closes the state's private
// parts and the host's files of secrets to them. It returns what it did, a sentence each. Everything else that
// Examine finds needs a decision of the operator's. The error joins what could not be
// mended; nothing is undone.
func Fix(c *config.Config, file string, stores []store.Spec) (done []string, err error) {
	layout := c.Layout()
	var problems []error
	narrow := func(path string, keep fs.FileMode) {
		said, err := narrow(path, keep)
		if said != "" {
			done = append(done, said)
		}
		problems = append(problems, err)
	}
	narrow(file, 0o755)
	narrow(layout.State, 0o755)
	for _, path := range privateDirs(layout, stores) {
		narrow(path, 0o700)
	}
	for _, path := range openSecrets(c) {
		narrow(path, 0o600)
	}
	return done, errors.Join(problems...)
}

// privateDirs are the directories of the state that only the host enters.
func privateDirs(l groups.Layout, stores []store.Spec) []string {
	return append([]string{l.Store(), l.Errors(), l.Logs()}, filesDirs(stores)...)
}

// filesDirs are the directories of stores' files.
func filesDirs(stores []store.Spec) (all []string) {
	for _, s := range stores {
		if s.Files != "" {
			all = append(all, filepath.Join(s.Dir, s.Files))
		}
	}
	return all
}

// narrow takes all rights from a file or a real directory but those to keep. What is
// missing needs nothing.
func narrow(path string, keep fs.FileMode) (said string, err error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if info.Mode()&fs.ModeSymlink != 0 { // what it leads to may be somebody else's
		return "", nil
	}
	old := info.Mode().Perm()
	if old&^keep == 0 {
		return "", nil
	}
	if err := os.Chmod(path, old&keep); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: mode %04o instead of %04o", path, old&keep, old), nil
}

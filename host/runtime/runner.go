package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Beside returns the agentrunner in the directory of this program. An error says that
// there is none (fs.ErrNotExist), or that somebody could have put it there who may not
// change this program: it must be a plain file of this program's owner or of root, and
// may be written only by those who may write this program.
func Beside() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find own executable: %w", err)
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return "", fmt.Errorf("find own executable: %w", err)
	}
	own, err := os.Lstat(self)
	if err != nil {
		return "", fmt.Errorf("look at own executable: %w", err)
	}
	path := filepath.Join(filepath.Dir(self), "agentrunner")
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if !asSafe(info, own) {
		return "", fmt.Errorf("%s: %w", path, errPlanted)
	}
	return path, nil
}

var errPlanted = errors.New("it is not a plain file that only those may write who may write longshore")

// asSafe reports whether nobody may have made or may change a program except those who
// may change own.
func asSafe(program, own fs.FileInfo) bool {
	p, ok := program.Sys().(*syscall.Stat_t)
	o, known := own.Sys().(*syscall.Stat_t)
	if !ok || !known || !program.Mode().IsRegular() || p.Uid != o.Uid && p.Uid != 0 {
		return false
	}
	others := program.Mode().Perm() & 0o022
	return others == 0 || others&^own.Mode().Perm() == 0 && p.Gid == o.Gid
}

// runner returns the arguments that start agentrunner, up to the command: the small one
// beside this program if it is of this version and runs here, else this program. A
// process of the small one takes a third of the memory.
func runner(ctx context.Context, version string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find own executable: %w", err)
	}
	if small, err := Beside(); err == nil && version != "" && versionOf(ctx, small) == version {
		return []string{small}, nil
	}
	return []string{self, "agentrunner"}, nil
}

// versionOf asks a program for its version, without the host's environment; empty if it
// gives none.
func versionOf(ctx context.Context, program string) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "version")
	cmd.Env, cmd.WaitDelay = []string{}, time.Second
	said, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(said))
}

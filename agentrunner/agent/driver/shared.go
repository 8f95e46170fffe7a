package driver

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
)

// maxShared is how much of the groups' common instructions a CLI gets, in bytes.
// Some CLIs take them as one argument, which the kernel limits to 128 KiB.
const maxShared = 32 << 10

// shared returns the operator's instructions for all groups, from AGENTS.md or else
// CLAUDE.md in /workspace/global. No CLI reads that directory by itself. The main
// group gets nothing, as in NanoClaw v1: its own workspace describes its role.
func (s setup) shared() (string, error) {
	config, err := sender.FromEnv(s.getenv)
	if err != nil {
		return "", err
	}
	if config.Main {
		return "", nil
	}
	dir := "/workspace/global"
	for _, m := range config.Mounts {
		if m.Path == dir {
			dir = m.Local
		}
	}
	for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		text, err := readShared(dir, name)
		if err != nil {
			return "", fmt.Errorf("read the groups' common instructions: %w", err)
		}
		if text != "" {
			return "\n" + text + "\n", nil
		}
	}
	return "", nil
}

// readShared reads a plain file up to maxShared bytes; anything else counts as
// missing. It follows a link only inside dir: a link that leads out would show a
// file of the host to the model.
func readShared(dir, name string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", nil //nolint:nilerr // the directory does not exist
	}
	defer func() { _ = root.Close() }()
	if info, err := root.Stat(name); err != nil || !info.Mode().IsRegular() {
		return "", nil //nolint:nilerr // most groups have none
	}
	file, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxShared))
	if err != nil {
		return "", err
	}
	// A NUL byte would end an argument.
	return strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(string(text), ""), "\x00", "")), nil
}

package driver

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
)

// maxShared is how much of the groups' common instructions a CLI is given, in
// bytes. Some take them as one argument, which the kernel limits to 128 KiB.
const maxShared = 32 << 10

// shared is what the operator wrote for all groups, in AGENTS.md or else
// CLAUDE.md of /workspace/global. No CLI looks there by itself. The main group
// is given nothing, as NanoClaw v1 has it: its workspace says who it is.
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

// readShared reads a plain file as far as it may be; nothing else is there. A
// link is followed inside dir only: one that leads out would put a file of the
// host before the model.
func readShared(dir, name string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", nil //nolint:nilerr // there is none
	}
	defer func() { _ = root.Close() }()
	if info, err := root.Stat(name); err != nil || !info.Mode().IsRegular() {
		return "", nil //nolint:nilerr // most have none
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
	// A zero byte would end an argument.
	return strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(string(text), ""), "\x00", "")), nil
}

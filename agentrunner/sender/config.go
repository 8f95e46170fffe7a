package sender

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
)

// containerIPC is where every container finds its queue; requests always name
// files by the container's paths.
const containerIPC = "/workspace/ipc"

// Config is what the runtime that started the assistant tells its tools.
type Config struct {
	IPC    string        // the group's queue as this process sees it; empty: /workspace/ipc
	Mounts []Mount       // nil: this process sees the container's own paths
	Chat   string        // the group's chat; may be empty, the host knows it
	Folder string        // the group's folder; may be empty likewise
	Main   bool          // may name other chats
	Wait   time.Duration // how long a call waits for its result; 0: 45 s
	File   ipc.Type      // what a host without receipts calls a file's request; empty: file
	Temp   []string      // the assistant's own temporary directories
	Home   string        // the user's home directory; may be empty
	// Private are directories and files of the agent CLI, from which nothing is sent.
	Private []string
	Ask     string // what a caller does with an id to learn more; empty: the MCP tool's way
}

// DefaultWait stays below the shortest time after which a known agent CLI
// gives up on a tool, which is 60 s.
const DefaultWait = 45 * time.Second

// Mount is one directory of the container under its real name, for a process
// that runs without a container.
type Mount struct {
	Path     string `json:"path"`  // as requests name it
	Local    string `json:"local"` // as this process sees it
	ReadOnly bool   `json:"readOnly"`
}

// FromEnv reads the configuration from LONGSHORE_* variables and, for chat,
// folder and main, from their older NANOCLAW_* names.
func FromEnv(getenv func(string) string) (Config, error) {
	either := func(name string) string {
		if v := getenv("LONGSHORE_" + name); v != "" {
			return v
		}
		return getenv("NANOCLAW_" + name)
	}
	c := Config{
		IPC:    getenv("LONGSHORE_IPC"),
		Chat:   either("CHAT_JID"),
		Folder: either("GROUP_FOLDER"),
		Main:   either("IS_MAIN") == "1",
		Wait:   DefaultWait,
	}
	if c.IPC == "" {
		c.IPC = containerIPC
	}
	if v := getenv("LONGSHORE_WAIT"); v != "" {
		wait, err := time.ParseDuration(v)
		if err != nil || wait <= 0 {
			return Config{}, fmt.Errorf("LONGSHORE_WAIT: %q is no duration above zero such as 45s", v)
		}
		c.Wait = wait
	}
	switch v := getenv("NANOCLAW_FILE_REQUEST"); v {
	case "", "file", "send_file":
		c.File = ipc.Type(v)
	default:
		return Config{}, fmt.Errorf("NANOCLAW_FILE_REQUEST: %q is neither file nor send_file", v)
	}
	if v := getenv("LONGSHORE_MOUNTS"); v != "" {
		if err := json.Unmarshal([]byte(v), &c.Mounts); err != nil {
			return Config{}, fmt.Errorf("LONGSHORE_MOUNTS: %w", err)
		}
		for _, m := range c.Mounts {
			if !filepath.IsAbs(m.Path) || !filepath.IsAbs(m.Local) {
				return Config{}, fmt.Errorf("LONGSHORE_MOUNTS: %q on %q: both must be absolute paths", m.Local, m.Path)
			}
		}
	}
	c.Home = getenv("HOME")
	c.Temp = tempDirs(getenv, c.Mounts == nil)
	c.Private = privateDirs(getenv, c.Workspace())
	return c, nil
}

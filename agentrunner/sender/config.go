package sender

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/remoteclient"
	"github.com/longshore-bridge/longshore/ipc"
)

// containerIPC is the queue's path in every container. Requests always name files by
// the container's paths.
const containerIPC = "/workspace/ipc"

// Config is the sender's configuration, set by the runtime that started the
// assistant.
type Config struct {
	IPC     string        // the group's queue in this process; empty: /workspace/ipc
	Mounts  []Mount       // nil: this process uses the container's own paths
	Chat    string        // the group's chat; may be empty, as the host knows it
	Folder  string        // the group's folder; may be empty too
	Main    bool          // the main group, which may name every chat
	Turn    string        // the host's id of the turn, with which requests are stamped; may be empty
	DropDir bool          // this process sees a drop directory that the host does not
	Thread  string        // of the chat, in which the turn was asked for; may be empty
	Wait    time.Duration // how long a call waits for its result; 0: 45 s
	File    ipc.Type      // type of a request with one file for a host without receipts; empty: file
	Temp    []string      // the assistant's own temporary directories
	Home    string        // the user's home directory; may be empty
	// Private are directories and files of the agent CLI; nothing in them is sent.
	Private []string
	Ask     string               // how the caller can ask for a request's state; empty: by the MCP tool
	Remote  *remoteclient.Client // takes the place of the queue; nil: there is a queue
	Upload  time.Duration        // how long one call uploads a file; 0: until it is done
}

// DefaultWait is less than 60 s, the shortest time after which a known agent CLI
// aborts a tool call.
const DefaultWait = 45 * time.Second

// Mount maps one directory of the container to its real path, for a process that
// runs without a container.
type Mount struct {
	Path     string `json:"path"`  // in requests
	Local    string `json:"local"` // in this process
	ReadOnly bool   `json:"readOnly"`
}

// FromEnv reads the configuration from LONGSHORE_* variables. Chat, folder and main
// may also come from their older NANOCLAW_* names. An error names the wrong variable
// and is permanent.
func FromEnv(getenv func(string) string) (Config, error) {
	either := func(name string) string {
		if v := getenv("LONGSHORE_" + name); v != "" {
			return v
		}
		return getenv("NANOCLAW_" + name)
	}
	c := Config{
		IPC:     getenv("LONGSHORE_IPC"),
		Chat:    either("CHAT_JID"),
		Folder:  either("GROUP_FOLDER"),
		Main:    either("IS_MAIN") == "1",
		Turn:    getenv("LONGSHORE_TURN"),
		Thread:  getenv("LONGSHORE_THREAD"),
		DropDir: getenv("LONGSHORE_OWN_OUTBOX") == "1",
		Wait:    DefaultWait,
	}
	c.IPC = cmp.Or(c.IPC, containerIPC)
	var err error
	if c.Remote, err = remote(getenv); err != nil {
		return Config{}, err
	}
	if v := getenv("LONGSHORE_WAIT"); v != "" {
		wait, err := time.ParseDuration(v)
		if err != nil || wait <= 0 {
			return Config{}, fmt.Errorf("LONGSHORE_WAIT: %q must be a duration above zero, such as 45s", v)
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
	c.Temp = tempDirs(getenv, c.Mounts == nil && c.Remote == nil)
	c.Private = privateDirs(getenv, c.Workspace())
	return c, nil
}

// remote returns the client of LONGSHORE_URL; nil if that is not set.
func remote(getenv func(string) string) (*remoteclient.Client, error) {
	address := getenv("LONGSHORE_URL")
	if address == "" {
		return nil, nil
	}
	token := getenv("LONGSHORE_TOKEN")
	if file := getenv("LONGSHORE_TOKEN_FILE"); token == "" && file != "" {
		var err error
		if token, err = readToken(file); err != nil {
			return nil, fmt.Errorf("LONGSHORE_TOKEN_FILE: %w", err)
		}
	}
	return remoteclient.New(address, token)
}

// readToken reads a file that holds a token and nothing else.
func readToken(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 4<<10))
	return strings.TrimSpace(string(b)), err
}

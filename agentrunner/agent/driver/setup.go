package driver

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/longshore-bridge/longshore/media"
)

// forTools returns the environment of the tools. By LONGSHORE_SESSION a runtime
// finds the processes that an ended assistant has left behind. By TMPDIR and the
// CLIs' homes the tools know what may be sent and what must not.
func (s setup) forTools() map[string]string {
	env := map[string]string{"LONGSHORE_AGENT_HOME": s.home}
	for _, name := range []string{"LONGSHORE_IPC", "LONGSHORE_MOUNTS", "LONGSHORE_CHAT_JID", "LONGSHORE_GROUP_FOLDER", "LONGSHORE_IS_MAIN",
		"LONGSHORE_TURN", "LONGSHORE_THREAD", "LONGSHORE_OWN_OUTBOX", "LONGSHORE_WAIT", "LONGSHORE_SESSION", "LONGSHORE_URL", "LONGSHORE_TOKEN_FILE", "NANOCLAW_CHAT_JID", "NANOCLAW_GROUP_FOLDER", "NANOCLAW_IS_MAIN",
		"NANOCLAW_FILE_REQUEST", "TMPDIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"} {
		if v := s.getenv(name); v != "" {
			env[name] = v
		}
	}
	return env
}

// hideWorkspace gives a CLI with limited rights another home directory if its home
// is the workspace. The programs that the CLI starts obey files in the home: a shell
// runs .bashrc, git runs what .gitconfig names, and the model may have written both.
// The tools keep the user's home, since "~" in a path means that directory.
func (s *setup) hideWorkspace() error {
	if s.rights == Full || s.own {
		return nil
	}
	if err := os.MkdirAll(s.home, 0o700); err != nil {
		return fmt.Errorf("make the assistant's home: %w", err)
	}
	s.env = append(s.env, "HOME="+s.home)
	s.toolsEnv["HOME"] = s.user
	return nil
}

// place decides where a CLI keeps its files: in the directory that its variable
// names; else in the usual directory of the user's home (usual is relative to it),
// if that exists; else below the assistant's home. env holds the variable to set; it
// is nil in the first two cases.
func (s setup) place(variable, usual, own string) (dir string, env []string) {
	if v := s.getenv(variable); v != "" {
		return v, nil
	}
	if stat, err := os.Stat(filepath.Join(s.user, usual)); s.own && err == nil && stat.IsDir() {
		return filepath.Join(s.user, usual), nil
	}
	dir = filepath.Join(s.home, own)
	return dir, []string{variable + "=" + dir}
}

// write replaces a file of ours in a CLI's directory, unless it already has this
// content.
func write(path, content string) error {
	if was, err := os.ReadFile(path); err == nil && string(was) == content {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the assistant's home: %w", err)
	}
	temp := path + ".tmp"
	if err := os.WriteFile(temp, []byte(content), 0o600); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}

// reason returns the message of an error that a service has wrapped in JSON.
func reason(s string) string {
	from, to := strings.IndexByte(s, '{'), strings.LastIndexByte(s, '}')
	if from < 0 || to < from {
		return clean(s)
	}
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(s[from:to+1]), &body) != nil || body.Error.Message == "" {
		return clean(s)
	}
	return clean(body.Error.Message)
}

// clean makes untrusted text printable: it removes control characters and shortens
// it to 1000 characters.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	return strings.TrimSpace(media.Cut(s, 1000))
}

package driver

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/longshore-bridge/longshore/media"
)

// forTools picks what the tools read. LONGSHORE_SESSION is the mark by which a
// runtime finds what an ended assistant has left behind. By TMPDIR and the
// homes of the CLIs the tools know what may be sent and what never may.
func (s setup) forTools() map[string]string {
	env := map[string]string{"LONGSHORE_AGENT_HOME": s.home}
	for _, name := range []string{"LONGSHORE_IPC", "LONGSHORE_MOUNTS", "LONGSHORE_CHAT_JID", "LONGSHORE_GROUP_FOLDER", "LONGSHORE_IS_MAIN",
		"LONGSHORE_WAIT", "LONGSHORE_SESSION", "NANOCLAW_CHAT_JID", "NANOCLAW_GROUP_FOLDER", "NANOCLAW_IS_MAIN",
		"NANOCLAW_FILE_REQUEST", "TMPDIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"} {
		if v := s.getenv(name); v != "" {
			env[name] = v
		}
	}
	return env
}

// hideWorkspace gives a CLI that may not do everything another home directory
// than the workspace. The programs that it starts obey what lies in the home: a
// shell runs .bashrc, git what .gitconfig names, and the model may have written
// both. The tools keep the user's home: it is what a "~" in a path means.
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

// place decides where a CLI keeps its things: where its variable says, where
// the user's home has them already (usual, relative to it), or below the
// assistant's home. The variable to set is empty in the first two cases.
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

// write replaces a file of ours below a CLI's directory, and leaves one alone
// that is as it should be.
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

// reason finds the words in an error that a service wrapped into JSON.
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

// clean takes control characters and what is too long out of foreign words.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	return strings.TrimSpace(media.Cut(s, 1000))
}

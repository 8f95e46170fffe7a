package container

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The session's mark and what an older session of the same group is known by.
const (
	markPrefix = "LONGSHORE_SESSION="
	envIPC     = "LONGSHORE_IPC"
)

// mountEnv is one entry of LONGSHORE_MOUNTS: by it the assistant's tools turn
// the paths of this machine into the ones that requests use, and back.
type mountEnv struct {
	Path     string `json:"path"`
	Local    string `json:"local"`
	ReadOnly bool   `json:"readOnly"`
}

// environment is all that a child process gets to know of its host. Nothing
// of the host's own environment is in it but PATH.
func environment(path, session string, spec Spec) ([]string, error) {
	mounts := []mountEnv{}
	for _, m := range spec.Mounts {
		if !m.Shadow { // without a container nothing lies over the path
			mounts = append(mounts, mountEnv{m.Container, m.Host, m.ReadOnly})
		}
	}
	list, err := json.Marshal(mounts)
	if err != nil {
		return nil, fmt.Errorf("encode mounts: %w", err)
	}
	main := "0"
	if spec.Group.Main {
		main = "1"
	}
	tz := spec.TZ
	if tz == "" {
		tz = "UTC"
	}
	vars := map[string]string{"PATH": path, "HOME": spec.WorkDir, "LANG": "C.UTF-8", "TZ": tz}
	for name, value := range spec.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return nil, fmt.Errorf("environment variable %q cannot be passed on", name)
		}
		vars[name] = value
	}
	// These are the host's word; configuration does not change them.
	for name, value := range map[string]string{
		"LONGSHORE_SESSION":      session,
		"LONGSHORE_MOUNTS":       string(list),
		envIPC:                   spec.IPC,
		"LONGSHORE_CHAT_JID":     string(spec.Group.Chat),
		"LONGSHORE_GROUP_FOLDER": spec.Group.Folder,
		"LONGSHORE_IS_MAIN":      main,
		"LONGSHORE_AGENT":        spec.Agent,
	} {
		vars[name] = value
		if value == "" {
			delete(vars, name)
		}
	}
	env := make([]string, 0, len(vars))
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env, nil
}

package runtime

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
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
	defaults := map[string]string{"PATH": path, "HOME": spec.WorkDir}
	if spec.Temp != "" {
		defaults["TMPDIR"] = spec.Temp
	}
	return Environment(spec, defaults, map[string]string{
		"LONGSHORE_SESSION": session,
		"LONGSHORE_MOUNTS":  string(list),
		envIPC:              spec.IPC,
	})
}

// Environment is the environment of an assistant, as sorted KEY=value, for a
// runtime: its defaults, over them what spec and the operator say, and over
// that what is the host's word alone, the runtime's own included. A variable
// of the host's whose value is empty is not there.
func Environment(spec Spec, defaults, own map[string]string) ([]string, error) {
	vars := map[string]string{"LANG": "C.UTF-8", "TZ": cmp.Or(spec.TZ, "UTC")}
	maps.Copy(vars, defaults)
	for name, value := range spec.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return nil, fmt.Errorf("environment variable %q cannot be passed on", name)
		}
		vars[name] = value
	}
	main := "0"
	if spec.Group.Main {
		main = "1"
	}
	words := map[string]string{
		"LONGSHORE_SESSION":      "",
		"LONGSHORE_MOUNTS":       "",
		envIPC:                   "",
		"LONGSHORE_CHAT_JID":     string(spec.Group.Chat),
		"LONGSHORE_GROUP_FOLDER": spec.Group.Folder,
		"LONGSHORE_IS_MAIN":      main,
		"LONGSHORE_AGENT":        spec.Agent,
	}
	maps.Copy(words, own)
	for name, value := range words {
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

package runtime

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The variables that mark a session, and by which an older session of the same
// group is found.
const (
	markPrefix = "LONGSHORE_SESSION="
	envIPC     = "LONGSHORE_IPC"
)

// mountEnv is one entry of LONGSHORE_MOUNTS. With it, the assistant's tools
// convert between this machine's paths and those of requests.
type mountEnv struct {
	Path     string `json:"path"`
	Local    string `json:"local"`
	ReadOnly bool   `json:"readOnly"`
}

// environment returns everything that a child process learns of its host. Of
// the host's own environment it contains only PATH.
func environment(path, session string, spec Spec) ([]string, error) {
	mounts := []mountEnv{}
	for _, m := range spec.Mounts {
		if !m.Shadow { // without a container nothing hides the path
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

// Environment returns an assistant's environment as sorted KEY=value, for a
// runtime. defaults come first; spec and the operator's variables override
// them; the host's own variables, including own, override everything. A host's
// variable with an empty value is omitted.
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

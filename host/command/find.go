package command

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	defaultConfig = "longshore.yaml"                // in the working directory
	systemConfig  = "/etc/longshore/longshore.yaml" // of a machine; the Debian package makes the directory
	systemState   = "/var/lib/longshore/state"      // goes with systemConfig
	configEnv     = "LONGSHORE_CONFIG"              // the variable that names the configuration
)

// searched returns where a configuration may lie that nothing names, in order: the working directory,
// the user's configuration (XDG Base Directory Specification), the machine's.
func (e *env) searched() []string {
	all := []string{defaultConfig}
	own := e.getenv("XDG_CONFIG_HOME")
	if home := e.getenv("HOME"); own == "" && home != "" {
		own = filepath.Join(home, ".config")
	}
	if filepath.IsAbs(own) {
		all = append(all, filepath.Join(own, "longshore", defaultConfig))
	}
	return append(all, systemConfig)
}

// find decides which configuration the command reads; named: by -c.
func (e *env) find(named bool) {
	e.Named = named
	if named {
		return
	}
	if e.Config = e.getenv(configEnv); e.Config != "" {
		return
	}
	e.Config = defaultConfig
	for _, path := range e.searched() {
		_, err := os.Stat(path)
		if err == nil {
			e.Config = path
			return
		}
		if errors.Is(err, fs.ErrPermission) { // if no later path has a file, load reports this one
			e.Config = path
		}
	}
}

// made returns where a new configuration goes: where the operator says, or into the working directory,
// even if there is one elsewhere.
func (e *env) made() string {
	if e.Named || e.getenv(configEnv) != "" {
		return e.Config
	}
	return defaultConfig
}

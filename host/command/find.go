package command

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// defaultConfig is the configuration in the working directory.
	defaultConfig = "longshore.yaml"
	// systemConfig is that of a machine, for which a package makes the directory.
	systemConfig = "/etc/longshore/longshore.yaml"
	// systemState is the state directory that goes with it.
	systemState = "/var/lib/longshore/state"
	// configEnv names the configuration to every command.
	configEnv = "LONGSHORE_CONFIG"
)

// searched are the paths of a configuration that is not named, in order: in the
// working directory, in the user's own (XDG Base Directory Specification), in the
// machine's.
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

// find decides which configuration the command reads.
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
		if errors.Is(err, fs.ErrPermission) { // if no other place has one, the load says that this may not be read
			e.Config = path
		}
	}
}

// made is where a new configuration goes: where the operator says, or into the working
// directory, even if there is one elsewhere.
func (e *env) made() string {
	if e.Named || e.getenv(configEnv) != "" {
		return e.Config
	}
	return defaultConfig
}

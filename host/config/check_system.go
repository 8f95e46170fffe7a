package config

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// systemDirs are the machine's own directories: a container that mounts one could
// take over the machine, whatever the rights on a file. Below removableDir some
// systems mount removable disks.
var systemDirs = []string{"/proc", "/sys", "/dev", "/run"}

const removableDir = "/run/media"

// engineData is where container engines keep their containers.
var engineData = []string{"/var/lib/docker", "/var/lib/containerd", "/var/lib/containers"}

// ofTheSystem reports whether dir, free of links, is one that no group may mount.
func ofTheSystem(dir string) bool {
	if _, removable := safefs.Below(removableDir, dir); removable && dir != removableDir {
		return false
	}
	return slices.ContainsFunc(systemDirs, func(system string) bool { return holds(dir, system) || holds(system, dir) })
}

// telling warns of a mount that holds somebody else's files, usually secrets.
func (c *checker) telling(key, dir string) {
	const hint = "mount a directory that holds what the group needs and nothing else"
	home := filepath.Clean(c.env("HOME"))
	_, overRoot := safefs.Below(dir, "/root")
	_, overHome := safefs.Below(dir, home)
	switch {
	case overlap(dir, "/etc"):
		c.warn(key, fmt.Sprintf("%q holds this machine's configuration, with its secrets", dir), hint)
	case overRoot || overHome && filepath.IsAbs(home):
		c.warn(key, fmt.Sprintf("%q holds a whole home directory, with its keys", dir), hint)
	case slices.ContainsFunc(engineData, func(data string) bool { return overlap(dir, data) }):
		c.warn(key, fmt.Sprintf("%q holds what a container engine keeps of all containers", dir), hint)
	}
}

// overlap reports whether one of two directories holds the other.
func overlap(a, b string) bool {
	_, in := safefs.Below(a, b)
	_, over := safefs.Below(b, a)
	return a != "" && b != "" && (in || over)
}

// holds reports whether path is dir or lies in it: by its name, or because path or
// a directory above it is the same directory under another spelling, as on a
// file system that does not tell upper from lower case. Neither need exist.
func holds(dir, path string) bool {
	if _, inside := safefs.Below(dir, path); inside {
		return true
	}
	want, ok := safefs.IdentityOf(dir)
	for at := path; ok; at = filepath.Dir(at) {
		if id, exists := safefs.IdentityOf(at); exists && id == want {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
	return false
}

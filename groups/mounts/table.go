package mounts

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

// Workspace is the directory below which a container sees everything that it
// shares with the host.
const Workspace = "/workspace"

// ipcMount is where a container has its queue.
const ipcMount = Workspace + "/ipc"

// Where a container has the operator's directories.
const (
	projectMount = Workspace + "/project" // main's alone
	extraMount   = Workspace + "/extra"   // each below its name
)

// ExtraPattern is what an extra mount may be called.
var ExtraPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Mount is one row of a group's mount map.
type Mount struct {
	Container string // where the container sees it: clean, absolute, slashes
	Host      string // the directory that is mounted; "/dev/null" over a shadowed file; empty for a shadowed directory, over which an empty one is mounted
	ReadOnly  bool
	Shadow    bool   // hides what would be seen here; what lies at or below Container cannot be sent
	Hides     string // of a shadow: what it hides on the host. A runtime leaves the shadow out while that does not exist, since there is nothing to mount it on
}

// mountTable is what the group's container sees, in an order in which it can
// be mounted: a mount comes after those it lies in.
func mountTable(l groups.Layout, g groups.Group) ([]Mount, error) {
	if !filepath.IsAbs(l.State) || l.Project != "" && !filepath.IsAbs(l.Project) {
		return nil, errors.New("mount map: state and project directories must be absolute")
	}
	if err := groups.CheckFolder(g.Folder); err != nil {
		return nil, fmt.Errorf("mount map: %w", err)
	}
	table := []Mount{
		{Container: Workspace + "/group", Host: l.Workspace(g.Folder)},
		{Container: Workspace + "/global", Host: l.Global(), ReadOnly: true},
	}
	if l.V1 {
		table = append(table, v1Mounts(l, g)...)
	}
	for _, leaf := range groups.IPCWritable {
		table = append(table, Mount{Container: path.Join(ipcMount, leaf), Host: l.IPC(g.Folder, leaf)})
	}
	for _, leaf := range groups.IPCReadable {
		table = append(table, Mount{Container: path.Join(ipcMount, leaf), Host: l.IPC(g.Folder, leaf), ReadOnly: true})
	}
	if g.Main && l.Project != "" {
		project, err := projectMounts(l)
		if err != nil {
			return nil, err
		}
		table = append(table, project...)
	}
	seen := make(map[string]bool)
	for _, e := range g.Mounts {
		if !ExtraPattern.MatchString(e.Name) || seen[e.Name] {
			return nil, fmt.Errorf("mount map of %s: the extra mount's name %q is bad or used twice", g.Folder, e.Name)
		}
		if !filepath.IsAbs(e.Host) {
			return nil, fmt.Errorf("mount map of %s: extra mount %s: %q is not absolute", g.Folder, e.Name, e.Host)
		}
		seen[e.Name] = true
		table = append(table, Mount{Container: path.Join(extraMount, e.Name), Host: filepath.Clean(e.Host), ReadOnly: !e.Write})
	}
	return table, nil
}

// v1Home is the home directory in NanoClaw v1's image.
const v1Home = "/home/node"

// v1Mounts is what v1's image expects beyond our own table: the whole queue
// directory, in which its forks make outbound_files/, and the CLI's
// conversations. The queue's leaves are mounted over the former, so that the
// agent can neither forge a result nor move a leaf away: the kernel does not
// rename or remove what is a mount point in the caller's namespace. tasks/ is
// read-only because nobody here reads it: an agent that cannot leave a task
// there says so, instead of telling its members that it is scheduled.
func v1Mounts(l groups.Layout, g groups.Group) []Mount {
	return []Mount{
		{Container: v1Home + "/.claude", Host: l.Session(g.Folder)},
		{Container: ipcMount, Host: l.IPC(g.Folder, "")},
		{Container: path.Join(ipcMount, groups.V1Tasks), Host: l.IPC(g.Folder, groups.V1Tasks), ReadOnly: true},
	}
}

// projectMounts are the project root and what is hidden in it: .env, where
// secrets are kept by custom, and what is the host's own.
func projectMounts(l groups.Layout) ([]Mount, error) {
	const at = projectMount
	env := filepath.Join(l.Project, ".env")
	table := []Mount{
		{Container: at, Host: filepath.Clean(l.Project), ReadOnly: true},
		{Container: at + "/.env", Host: "/dev/null", ReadOnly: true, Shadow: true, Hides: env},
	}
	for _, dir := range l.Private() {
		rest, inside := safefs.Below(l.Project, dir)
		if !inside {
			continue
		}
		if rest == "." {
			return nil, fmt.Errorf("mount map: the project directory %s is the state directory", l.Project)
		}
		table = append(table, Mount{Container: path.Join(at, rest), ReadOnly: true, Shadow: true, Hides: dir})
	}
	if _, inside := safefs.Below(l.State, l.Project); inside && !l.V1 {
		return nil, fmt.Errorf("mount map: the project directory %s lies in the state directory", l.Project)
	}
	return table, nil
}

// InContainer says whether a path is meant as an assistant sees it.
func InContainer(path string) bool { return within(Workspace, path) }

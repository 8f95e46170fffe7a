package mounts

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

// Workspace is the directory in the container below which everything is shared
// with the host.
const Workspace = "/workspace"

// ipcMount is the container's path of the queue.
const ipcMount = Workspace + "/ipc"

// The container's paths of the operator's directories.
const (
	projectMount = Workspace + "/project" // only for the main group
	extraMount   = Workspace + "/extra"   // each below its own name
)

// ExtraPattern matches the valid names of extra mounts.
var ExtraPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Mount is one row of a group's mount map.
type Mount struct {
	Container string // path in the container: clean, absolute, with slashes
	Host      string // directory that is mounted; "/dev/null" over a shadowed file; empty for a shadowed directory, over which an empty one is mounted
	ReadOnly  bool
	Shadow    bool   // hides the host's files here; a file at or below Container cannot be sent
	Hides     string // of a shadow: the path that it hides on the host. If that path does not exist, a runtime omits the shadow, since there is nothing to mount it on
}

// Table returns the mounts of the group's container, in an order in which
// they can be mounted: a mount comes after those that contain it. It is what
// [Map.Mounts] returns, and looks at no file. An error means that l or g is
// invalid, and is permanent.
func Table(l groups.Layout, g groups.Group) ([]Mount, error) {
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

// InPlace is a group's table for its n-th assistant of those that run at the same
// time: with an input directory and a drop directory of its own.
func InPlace(table []Mount, l groups.Layout, folder string, n int) []Mount {
	table = slices.Clone(table)
	for i := range table {
		if m := &table[i]; m.Container == path.Join(ipcMount, "input") {
			m.Host = filepath.Join(l.Place(folder, n), "input")
		}
	}
	return append(table, Mount{Container: path.Join(Workspace, "group", groups.DropDir), Host: filepath.Join(l.Place(folder, n), groups.DropDir)})
}

// v1Home is the home directory in NanoClaw v1's image.
const v1Home = "/home/node"

// v1Mounts returns the further mounts that v1's image expects: the whole queue
// directory, in which v1's forks create outbound_files/, and the CLI's
// conversations. The queue's leaves are mounted over the queue directory, so
// that the agent can neither forge a result nor move a leaf away: the kernel
// does not rename or remove a mount point in the caller's namespace. What the
// agent writes into tasks/ lands in messages/, as the host's queue has one directory.
func v1Mounts(l groups.Layout, g groups.Group) []Mount {
	return []Mount{
		{Container: v1Home + "/.claude", Host: l.Session(g.Folder)},
		{Container: ipcMount, Host: l.IPC(g.Folder, "")},
		{Container: path.Join(ipcMount, groups.V1Tasks), Host: l.IPC(g.Folder, "messages")},
	}
}

// projectMounts returns the project root and the shadows in it: over .env,
// which usually holds secrets, and over the host's own directories.
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
		return nil, fmt.Errorf("mount map: the project directory %s is inside the state directory", l.Project)
	}
	return table, nil
}

// InContainer reports whether a path is a container's path.
func InContainer(path string) bool { return within(Workspace, path) }

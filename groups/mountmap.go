package groups

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// MountMap is what one group's container sees of the host. It is the only
// source both of the container's mounts and of the translation of its paths,
// so that the two cannot disagree.
//
// # Guarantees
//
// A [File] that Open returns is a regular file that had one name, lay on one
// of the group's mounts and under none of its shadows at some moment during
// the call. No link, rename or exchange of directories during the call leads
// elsewhere, and no pipe, device or lease makes it wait. Reading goes on from
// the same inode, whatever happens to its name.
//
// # Non-guarantees
//
// The content may change while it is read. The parents of a mounted directory
// must not be writable by the agent; the mounted directory's own name is
// checked on each Open. In v1's layout the agent may write in the one parent of
// the queue's leaves, whose name it cannot change: a leaf that it exchanges for
// a link is not followed, one that it exchanges for another directory can only
// be a directory of its own. A network file system that hangs, hangs Open.
//
// All methods may be called from several goroutines.
type MountMap struct {
	table []Mount // as Mounts returns it
	roots []*root // of the mounts that are no shadows, longest container path first
}

// File is an open file that its group may send. The embedded File's name holds
// no host path; the caller closes it.
type File struct {
	*os.File
	Info  fs.FileInfo // of the open file; Size is the logical size, holes included
	Path  string      // where the container sees it, clean; after following a link at its end
	Mount Mount       // the row that it was found through
}

// NewMountMap computes the map of g. It opens nothing: a directory is opened
// when it is first asked for, so that one that is missing hurts nobody else.
// An error means that layout or group are not as Load would have them.
func NewMountMap(l Layout, g Group) (*MountMap, error) {
	table, err := mountTable(l, g)
	if err != nil {
		return nil, err
	}
	m := &MountMap{table: table}
	for _, mount := range table {
		if mount.Shadow {
			continue
		}
		r := &root{mount: mount}
		for _, other := range table {
			if other.Container != mount.Container && within(mount.Container, other.Container) {
				r.inner = append(r.inner, other)
			}
		}
		m.roots = append(m.roots, r)
	}
	slices.SortFunc(m.roots, func(a, b *root) int { return len(b.mount.Container) - len(a.mount.Container) })
	return m, nil
}

// Mounts is the whole table, in an order in which it can be mounted.
func (m *MountMap) Mounts() []Mount { return slices.Clone(m.table) }

// Refresh looks whether each directory that is held open is still the one that
// bears its name, and lets go of those that are not. Open does the same for
// the directory it needs; Refresh is for a rescan, so that no space is held
// for a directory that was deleted.
func (m *MountMap) Refresh() {
	for _, r := range m.roots {
		r.refresh()
	}
}

// Close lets go of all directories. Files that are open stay so. Open after
// Close opens them again.
func (m *MountMap) Close() error {
	var errs []error
	for _, r := range m.roots {
		errs = append(errs, r.close())
	}
	return errors.Join(errs...)
}

// find is the mount with the longest prefix of p, and the rest of p below it.
// A shadow wins over what it hides.
func (m *MountMap) find(p string) (*root, string, error) {
	for _, r := range m.roots {
		if !within(r.mount.Container, p) {
			continue
		}
		if r.shadowed(p) {
			return r, "", &Error{
				Code:    CodePathShadowed,
				Message: "the container does not see what the host has there",
				Hint:    "secrets and the host's own files cannot be sent; " + m.hint(),
			}
		}
		if p == r.mount.Container {
			return r, "", notAFile("a directory")
		}
		return r, p[len(r.mount.Container)+1:], nil
	}
	return nil, "", &Error{
		Code:    CodeNotMounted,
		Message: "the host does not see this path",
		Hint:    "copy the file to /workspace/group and send it from there; " + m.hint(),
	}
}

// hint names the directories that files can be sent from.
func (m *MountMap) hint() string {
	var dirs []string
	for _, mount := range m.table {
		if !mount.Shadow && within(Workspace, mount.Container) && !within(ipcMount, mount.Container) {
			dirs = append(dirs, mount.Container)
		}
	}
	return "what can be sent lies below " + strings.Join(dirs, ", ")
}

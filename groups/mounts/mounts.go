// Package mounts says what a group's container sees of the host, and opens its
// files. The [Map] turns a container's path into an open [File], which is the
// only way to get one: code that holds a File holds a decision that was made
// here.
package mounts

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/internal/refusal"

	"github.com/longshore-bridge/longshore/groups"
)

// Map is what one group's container sees of the host. It is the only
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
// must not be writable by the agent, which Load refuses; the way to the
// directory, its own name and, of the operator's directories, its identity are
// checked on each Open. In v1's layout the agent may write in the one parent of
// the queue's leaves, whose name it cannot change: a leaf that it exchanges for
// a link is not followed, one that it exchanges for another directory can only
// be a directory of its own. A network file system that hangs, hangs Open.
//
// All methods may be called from several goroutines.
type Map struct {
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

// New computes the map of g. It keeps nothing open: a directory is
// opened when it is first asked for, so that one that is missing hurts nobody
// else. It takes note of which directories the operator's paths, the project's
// and those of extra mounts, lead to now: one that takes such a place later is
// refused. All host paths must be free of links, as Load resolves them. An
// error means that layout or group are not as Load would have them.
func New(l groups.Layout, g groups.Group) (*Map, error) {
	table, err := mountTable(l, g)
	if err != nil {
		return nil, err
	}
	m := &Map{table: table}
	for _, mount := range table {
		if mount.Shadow || !within(Workspace, mount.Container) {
			continue // of what lies elsewhere, the home of v1's CLI, nothing is sent
		}
		r := &root{mount: mount, fixed: operators(mount)}
		if r.fixed {
			r.remember()
		}
		for _, other := range table {
			if other.Container != mount.Container && within(mount.Container, other.Container) {
				r.inner = append(r.inner, newHidden(mount, other))
			}
		}
		m.roots = append(m.roots, r)
	}
	slices.SortFunc(m.roots, func(a, b *root) int { return len(b.mount.Container) - len(a.mount.Container) })
	return m, nil
}

// operators says whether the directory is one that the operator has named. All
// others are made by the host, which also makes them anew.
func operators(m Mount) bool {
	return within(projectMount, m.Container) || within(extraMount, m.Container)
}

// Mounts is the whole table, in an order in which it can be mounted.
func (m *Map) Mounts() []Mount { return slices.Clone(m.table) }

// Refresh looks whether each directory that is held open is still the one that
// bears its name, and lets go of those that are not. It takes note of what the
// shadows hide now, which stays hidden wherever it is moved. Open does the same
// for the directory it needs. Refresh is for the start, before an assistant
// runs, and for a rescan.
func (m *Map) Refresh() {
	for _, r := range m.roots {
		r.refresh()
	}
}

// Close lets go of all directories. Files that are open stay so. Open after
// Close opens them again.
func (m *Map) Close() error {
	var errs []error
	for _, r := range m.roots {
		errs = append(errs, r.close())
	}
	return errors.Join(errs...)
}

// find is the mount with the longest prefix of p, and the rest of p below it.
// A shadow wins over what it hides.
func (m *Map) find(p string) (*root, string, error) {
	for _, r := range m.roots {
		if !within(r.mount.Container, p) {
			continue
		}
		if r.shadowed(p) {
			return r, "", shadowed("; " + m.hint())
		}
		if p == r.mount.Container {
			return r, "", notAFile("a directory")
		}
		return r, p[len(r.mount.Container)+1:], nil
	}
	return nil, "", &refusal.Error{
		Code:    CodeNotMounted,
		Message: "the host sends no file from this path",
		Hint:    "copy the file to /workspace/group and send it from there; " + m.hint(),
	}
}

// hint names the directories that files can be sent from.
func (m *Map) hint() string {
	var dirs []string
	for _, mount := range m.table {
		if !mount.Shadow && within(Workspace, mount.Container) && !within(ipcMount, mount.Container) {
			dirs = append(dirs, mount.Container)
		}
	}
	return "what can be sent lies below " + strings.Join(dirs, ", ")
}

// The codes of this package's refusals. They never change their meaning.
const (
	CodeBadPath      = "bad_path"      // empty, relative, too long, a URL, with control characters
	CodePathEscapes  = "path_escapes"  // "..", or a link that leaves its directory
	CodeNotMounted   = "not_mounted"   // lies in no directory that files are sent from
	CodePathShadowed = "path_shadowed" // hidden from the container, so hidden from its chat
	CodeMountMissing = "mount_missing" // the shared directory is gone, or another one lies in its place
	CodeFileMissing  = "file_missing"
	CodeFileEmpty    = "file_empty"
	CodeNotAFile     = "not_a_file"   // a directory, a pipe, a device, a socket
	CodeHardLink     = "hard_link"    // may be a second name of a file from elsewhere
	CodeOtherDevice  = "other_device" // something else is mounted inside the shared directory
	CodeUnreadable   = "unreadable"   // the host may not read it
	CodeFileBusy     = "file_busy"    // a lease on the file would make the host wait
)

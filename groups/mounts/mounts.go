// Package mounts computes which directories of the host a group's container
// sees, and opens files in them. A [Map] turns a container's path into an open
// [File]. There is no other way to get a File, so code that has one knows that
// this package has checked it.
package mounts

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// Map describes what one group's container sees of the host. Both the
// container's mounts and the translation of its paths come from the Map, so
// they cannot disagree.
//
// # Guarantees
//
// A [File] from Open is a regular file. At some moment during the call it had
// one name, was on one of the group's mounts, and was under none of its
// shadows. No link, rename or exchange of directories during the call leads
// elsewhere, and no pipe, device or lease makes Open wait. Reading continues
// from the same inode, whatever happens to its name.
//
// # Non-guarantees
//
// The content may change while it is read. The agent must not be able to write
// in the parents of a mounted directory; the configuration's check refuses
// that. Each Open checks the way to the directory, its name and, for the
// operator's directories, its identity. In v1's layout the agent may write in
// the one parent of the queue's leaves, whose name it cannot change. If it
// exchanges a leaf for a link, the link is not followed; if for another
// directory, that can only be its own. If a network file system hangs, Open
// hangs.
//
// All methods may be called concurrently.
type Map struct {
	table []Mount // as returned by Mounts
	roots []*root // of the mounts that are not shadows, longest container path first
}

// File is an open file that its group may send. The name of the embedded
// os.File contains no host path. The caller closes the File.
type File struct {
	*os.File
	Info  fs.FileInfo // of the open file; Size is the logical size, holes included
	Path  string      // clean path in the container, after a link at its end was followed
	Mount Mount       // the row through which the file was found
	Names []string    // its paths in the container: as asked for, as each link on the way makes of that, and its own
}

// New computes the map of g. It opens nothing: a directory is opened on first
// use, so that a missing one affects nothing else. New records the present
// identity of the operator's directories (project and extra mounts); a
// directory that takes such a place later is refused. All host paths must be
// free of links, as the configuration resolves them. An error means that l or g
// is invalid, and is permanent.
func New(l groups.Layout, g groups.Group) (*Map, error) {
	table, err := Table(l, g)
	if err != nil {
		return nil, err
	}
	m := &Map{table: table}
	for _, mount := range table {
		if mount.Shadow || !within(Workspace, mount.Container) {
			continue // nothing is sent from other mounts, such as the home of v1's CLI
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

// operators reports whether the operator has named the directory. The host
// creates all others, and may create them again.
func operators(m Mount) bool {
	return within(projectMount, m.Container) || within(extraMount, m.Container)
}

// Mounts returns the whole table, in an order in which it can be mounted.
func (m *Map) Mounts() []Mount { return slices.Clone(m.table) }

// Gone returns, by mount, why the operator's directories cannot be used: their place is empty or taken by another
// directory than New has seen there, which is an error fs.ErrNotExist, or the host may not read or search
// them. What is asked for from them is refused with CodeMountMissing. It hangs if a network file system does.
func (m *Map) Gone() map[Mount]error {
	all := map[Mount]error{}
	for _, r := range m.roots {
		if !r.fixed {
			continue
		}
		if err := r.gone(); err != nil {
			all[r.mount] = err
		}
	}
	return all
}

// Refresh closes each open directory that no longer has its name, and records
// what the shadows hide now; that stays hidden wherever it is moved. Open does
// the same for the directory that it needs. Call Refresh at the start, before
// an assistant runs, and at each rescan.
func (m *Map) Refresh() {
	for _, r := range m.roots {
		r.refresh()
	}
}

// Close closes all directories, but no File. A later Open opens them again.
func (m *Map) Close() error {
	var errs []error
	for _, r := range m.roots {
		errs = append(errs, r.close())
	}
	return errors.Join(errs...)
}

// find returns the mount with the longest prefix of p, and the rest of p below
// it. A path under a shadow is refused.
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
	return "files can be sent from " + strings.Join(dirs, ", ")
}

// The codes of this package's refusals. They never change their meaning.
const (
	CodeBadPath      = "bad_path"      // empty, relative, too long, a URL, or with control characters
	CodePathEscapes  = "path_escapes"  // "..", or a link that leaves its directory
	CodeNotMounted   = "not_mounted"   // in no directory that files are sent from
	CodePathShadowed = "path_shadowed" // hidden from the container, so hidden from its chat
	CodeMountMissing = "mount_missing" // the shared directory is gone, or another one is in its place
	CodeFileMissing  = "file_missing"
	CodeFileEmpty    = "file_empty"
	CodeNotAFile     = "not_a_file"   // a directory, a pipe, a device, a socket
	CodeHardLink     = "hard_link"    // may be a second name of a file from elsewhere
	CodeOtherDevice  = "other_device" // something else is mounted inside the shared directory
	CodeUnreadable   = "unreadable"   // the host has no permission to read it
	CodeFileBusy     = "file_busy"    // a lease on the file would make the host wait
)

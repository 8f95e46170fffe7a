package operator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/longshore-bridge/longshore/media"
)

// Free space below which the doctor speaks up, in bytes. The outbox itself
// stops accepting before the disk is full.
const (
	lowSpace  = 2 << 30
	noSpace   = 256 << 20
	lowInodes = 10_000
)

// hosting is whether a host runs on the state directory.
type hosting struct {
	running bool
	err     error // what a running host says is wrong with it
}

func hostState(err error) hosting {
	if errors.Is(err, ErrNoHost) {
		return hosting{}
	}
	return hosting{running: true, err: err}
}

func (d Doctor) host(_ context.Context, h hosting) []Finding {
	switch {
	case !h.running:
		return found("host", Note, "no host is running on this state directory", "start it with: longshore serve")
	case h.err != nil:
		return found("host", Fault, "the host runs and is not well: "+h.err.Error(), "see: longshore status")
	}
	return fine("host", "the host runs and says it is well")
}

// state looks at the state directory and what of it must be the host's own.
func (d Doctor) state(context.Context, hosting) []Finding {
	fi, err := realDir(d.Layout.State)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return found("state", Note, "the state directory does not exist yet", "longshore serve makes it")
	case errors.Is(err, fs.ErrInvalid):
		return found("state", Fault, "the state directory is not a directory itself", "put the real path into longshore.yaml, not a link to it")
	case err != nil:
		return found("state", Fault, err.Error(), "run the doctor as the user that the host runs as")
	}
	var all []Finding
	if !ownedBySelf(fi) && os.Geteuid() != 0 {
		all = append(all, found("state", Fault, "the state directory belongs to another user", "run longshore as its owner, or change the owner with chown -R")...)
	}
	if fi.Mode().Perm()&0o022 != 0 {
		all = append(all, found("state", Fault, fmt.Sprintf("others may write to the state directory (mode %04o)", fi.Mode().Perm()), "chmod go-w "+d.Layout.State)...)
	}
	for _, path := range []string{d.Layout.Outbox(), d.Layout.Store(), d.Layout.Errors(), d.Layout.Logs()} {
		all = append(all, d.private(path)...)
	}
	if len(all) == 0 {
		return fine("state", "the state directory is ours, and closed to others where it has to be")
	}
	return all
}

// private wants a directory that only its owner may enter.
func (d Doctor) private(path string) []Finding {
	name := d.rel(path)
	fi, err := realDir(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, fs.ErrInvalid):
		return found("state", Fault, name+" in the state directory is not a directory itself", "stop the host, find out who replaced it, and restore it from a backup")
	case err != nil:
		return found("state", Fault, err.Error(), "run the doctor as the user that the host runs as")
	}
	if fi.Mode().Perm()&0o077 != 0 {
		return found("state", Fault, fmt.Sprintf("%s is open to other users (mode %04o)", name, fi.Mode().Perm()), "chmod 0700 "+path)
	}
	return nil
}

// disk looks at the room that is left and at the kind of file system.
func (d Doctor) disk(context.Context, hosting) []Finding {
	fsys, err := fileSystem(existing(d.Layout.State))
	if err != nil {
		return found("disk", Warning, "the file system cannot be asked: "+err.Error(), "")
	}
	var all []Finding
	left := media.Size(int64(fsys.free)) + " free"
	switch {
	case fsys.free < noSpace:
		all = append(all, found("disk", Fault, left+": new files will not be accepted", "make room on the file system of the state directory")...)
	case fsys.free < lowSpace:
		all = append(all, found("disk", Warning, left, "make room on the file system of the state directory")...)
	}
	if fsys.inodes > 0 && fsys.inodesFree < lowInodes {
		all = append(all, found("disk", Warning, fmt.Sprintf("%d inodes free", fsys.inodesFree), "remove small files on the file system of the state directory")...)
	}
	switch {
	case fsys.network:
		all = append(all, found("disk", Warning, "the state directory lies on "+fsys.name+": no inotify events come from other machines, and SQLite's locks may not hold",
			"move the state directory to a local disk")...)
	case fsys.volatile:
		all = append(all, found("disk", Warning, "the state directory lies on "+fsys.name+" and is lost when the machine restarts", "move the state directory to a disk")...)
	}
	if len(all) == 0 {
		return fine("disk", left+" on "+fsys.name)
	}
	return all
}

// existing is path, or the nearest directory above it that exists.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil {
			return path
		}
		up := filepath.Dir(path)
		if up == path {
			return path
		}
		path = up
	}
}

// volume is what is known of a file system.
type volume struct {
	name        string // for people: "ext4", "NFS"
	network     bool
	volatile    bool
	free, total uint64 // bytes
	inodes      uint64
	inodesFree  uint64
}

// DiskOf is the room on the file system that path, or the directory above it
// that exists, lies on. It is zero where the system cannot be asked.
func DiskOf(path string) Disk {
	fsys, err := fileSystem(existing(path))
	if err != nil {
		return Disk{}
	}
	return Disk{Free: fsys.free, Total: fsys.total}
}

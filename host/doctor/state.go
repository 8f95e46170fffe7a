package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/media"
)

// Below these values the doctor warns: free bytes in addition to those that the
// outbox leaves free, and free inodes.
const (
	lowSpace  = 1 << 30
	lowInodes = 10_000
)

// hosting says whether a host runs on the state directory.
type hosting struct {
	running bool
	err     error           // the problem that a running host reports
	status  operator.Status // of a running host; zero if it gives none
}

func hostState(err error) hosting {
	if errors.Is(err, operator.ErrNoHost) {
		return hosting{}
	}
	return hosting{running: true, err: err}
}

func (d Doctor) host(_ context.Context, h hosting) []Finding {
	switch {
	case !h.running:
		return found("host", Note, "no host is running on this state directory", "start it with: longshore serve")
	case h.err != nil:
		return found("host", Fault, "the host runs but reports a problem: "+h.err.Error(), "see: longshore status")
	}
	var all []Finding
	for _, f := range h.status.Faults {
		severity := Warning
		if slices.Contains([]string{operator.FaultConfig, operator.FaultGroups, operator.FaultQueue}, f.Name) {
			severity = Fault // no other check sees it
		}
		all = append(all, found("host", severity, "the host reports "+f.Name+": "+f.Message, f.Hint)...)
	}
	if len(all) > 0 {
		return all
	}
	words := "the host runs and reports no problem"
	if at := h.status.Backup; !at.IsZero() {
		words += "; backup of the state at " + at.Local().Format(time.DateTime)
	}
	return fine("host", words)
}

// state checks the state directory and the parts of it that only the host may
// use.
func (d Doctor) state(context.Context, hosting) []Finding {
	fi, err := realDir(d.Layout.State)
	left := d.Layout.Interrupted()
	switch {
	case left != "":
		return found("state", Fault, "a restore was interrupted and has left "+left, d.Layout.AfterInterruption())
	case errors.Is(err, fs.ErrNotExist):
		return found("state", Note, "the state directory does not exist yet", "longshore serve creates it")
	case errors.Is(err, fs.ErrInvalid):
		return found("state", Fault, "the state directory is not a directory itself", "put the real path into longshore.yaml, not a link to it")
	case err != nil:
		return found("state", Fault, err.Error(), "run the doctor as the user that the host runs as")
	}
	var all []Finding
	if !safefs.Mine(fi) && os.Geteuid() != 0 {
		all = append(all, found("state", Fault, "the state directory belongs to another user", "run longshore as its owner, or change the owner with chown -R")...)
	}
	if fi.Mode().Perm()&0o022 != 0 {
		all = append(all, found("state", Fault, fmt.Sprintf("others may write to the state directory (mode %04o)", fi.Mode().Perm()), "chmod go-w "+d.Layout.State)...)
	}
	for _, path := range []string{d.Layout.Groups(), d.Layout.Global(), d.Layout.IPCDir()} {
		if _, err := realDir(path); errors.Is(err, fs.ErrInvalid) {
			all = append(all, found("state", Fault, d.rel(path)+" in the state directory is not a directory itself", "stop the host, find out who replaced it, and move it away")...)
		}
	}
	if err := operator.CheckSocket(operator.ControlDir(d.Layout)); err != nil {
		all = append(all, found("state", Fault, err.Error(), "find out who made it, and move it away")...)
	}
	for _, path := range privateDirs(d.Layout, d.Stores) {
		all = append(all, d.private(path)...)
	}
	if len(all) == 0 {
		return fine("state", "the state directory is ours, and its private parts are closed to others")
	}
	return all
}

// private checks that only its owner may enter a directory.
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

// disk checks the free space and the kind of file system.
func (d Doctor) disk(context.Context, hosting) []Finding {
	fsys, err := safefs.VolumeOf(d.Layout.State)
	if err != nil {
		return found("disk", Warning, "the state of the file system is unknown: "+err.Error(), "")
	}
	var all []Finding
	left := media.Size(int64(fsys.Free)) + " free"
	switch {
	case d.FreeDisk > 0 && int64(fsys.Free) < d.FreeDisk:
		all = append(all, found("disk", Fault, left+", and limits.free_disk is "+media.Size(d.FreeDisk)+": nothing new is accepted", "make room on the file system of the state directory")...)
	case int64(fsys.Free) < d.FreeDisk+lowSpace:
		all = append(all, found("disk", Warning, left, "make room on the file system of the state directory")...)
	}
	if fsys.Inodes > 0 && fsys.InodesFree < lowInodes {
		all = append(all, found("disk", Warning, fmt.Sprintf("%d inodes free", fsys.InodesFree), "remove small files on the file system of the state directory")...)
	}
	switch {
	case fsys.Network:
		all = append(all, found("disk", Warning, "the state directory is on "+fsys.Name+": no inotify events come from other machines, and SQLite's locks may not hold",
			"move the state directory to a local disk")...)
	case fsys.Volatile:
		all = append(all, found("disk", Warning, "the state directory is on "+fsys.Name+" and is lost when the machine restarts", "move the state directory to a disk")...)
	}
	if len(all) == 0 {
		return fine("disk", left+" on "+fsys.Name)
	}
	return all
}

package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/media"
)

// Below these values the doctor warns: free bytes in addition to those that the
// outbox leaves free, and free inodes.
const (
	lowSpace  = 1 << 30
	lowInodes = 10_000
)

// state checks the state directory and the parts of it that only the host may
// use.
func (d Doctor) state(context.Context) (all []finding.Finding) {
	bad := func(name, cause, remedy string) {
		all = append(all, found(name, "state", finding.Fault, cause, remedy)...)
	}
	fi, err := realDir(d.Layout.State)
	switch {
	case d.Layout.Interrupted() != "":
		return found(finding.Restore, "state", finding.Fault, "a restore was interrupted and has left "+d.Layout.Interrupted(), d.Layout.AfterInterruption())
	case errors.Is(err, fs.ErrNotExist) && d.Running:
		return []finding.Finding{finding.Gone(d.Layout.State, os.Getpid())}
	case errors.Is(err, fs.ErrNotExist):
		return d.unmade()
	case errors.Is(err, fs.ErrInvalid) && fi.Mode()&fs.ModeSymlink != 0:
		return found(finding.State, "state", finding.Fault, "the state directory is not a directory itself", "put the real path into longshore.yaml, not a link to it")
	case errors.Is(err, fs.ErrInvalid), errors.Is(err, syscall.ENOTDIR):
		return found(finding.State, "state", finding.Fault, "the state directory "+d.Layout.State+" is not a directory", misplaced)
	case err != nil:
		return []finding.Finding{d.unusable(finding.State, "state", d.Layout.State, err)}
	}
	if !safefs.Mine(fi) && os.Geteuid() != 0 {
		bad(finding.State, "the state directory belongs to another user", "run longshore as its owner, or change the owner with chown -R")
	}
	if fi.Mode().Perm()&0o022 != 0 {
		bad(finding.StateOpen, fmt.Sprintf("others may write to the state directory (mode %04o)", fi.Mode().Perm()), "chmod go-w "+finding.ShellWord(d.Layout.State))
	}
	prepared, others := d.Layout.Directories()
	for _, path := range append(prepared, filesDirs(d.Stores)...) {
		if _, err := realDir(path); errors.Is(err, fs.ErrInvalid) {
			bad(finding.State, d.rel(path)+" in the state directory is not a directory itself", misplaced)
		}
	}
	for _, path := range others {
		if _, err := dirAt(path); errors.Is(err, fs.ErrInvalid) {
			all = append(all, found(finding.State, "state, "+d.rel(path), finding.Fault, d.rel(path)+" in the state directory is not a directory", misplaced)...)
		}
	}
	for _, path := range privateDirs(d.Layout, d.Stores) {
		if fi, err := realDir(path); err == nil && fi.Mode().Perm()&0o077 != 0 {
			bad(finding.StateOpen, fmt.Sprintf("%s is open to other users (mode %04o)", d.rel(path), fi.Mode().Perm()), "chmod 0700 "+finding.ShellWord(path))
		}
	}
	all = append(all, NoSocket(d.Layout)...)
	if len(all) == 0 {
		return well("state", "the state directory is ours, and its private parts are closed to others")
	}
	return all
}

// misplaced is what to do about a file in the place of a directory.
const misplaced = "stop the host, find out who replaced it, and move it away; or restore it from a backup"

// unmade finds whether a host can make its state directory.
func (d Doctor) unmade() []finding.Finding {
	above := filepath.Dir(d.Layout.State)
	err := safefs.Writable(above, true)
	for ; errors.Is(err, fs.ErrNotExist); err = safefs.Writable(above, true) {
		above = filepath.Dir(above)
	}
	if err != nil {
		return found(finding.State, "state", finding.Fault, fmt.Sprintf("the state directory cannot be made in %s: %v", above, safefs.Reason(err)),
			fmt.Sprintf("if it was on a disk of its own, mount that; else install -d -o %d -m 0700 %s, as root", os.Geteuid(), finding.ShellWord(d.Layout.State)))
	}
	return found(finding.StateNone, "state", finding.Note, "the state directory does not exist yet", "longshore serve creates it")
}

// NoSocket finds whether something else is in the place of the control socket.
func NoSocket(l groups.Layout) []finding.Finding {
	err := operator.CheckSocket(operator.ControlDir(l))
	if err == nil || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return found(finding.State, finding.SocketPart, finding.Fault, err.Error(), "find out who made it, and move it away")
}

// maxUnusable is how many files and directories are named.
const maxUnusable = 20

// usable finds what the host has to read and write and may not: every directory of the state, two
// levels deep, and the files in them, but those of configured groups. Deeper ones are bytes that are
// opened one by one.
func (d Doctor) usable(context.Context) (all []finding.Finding) {
	for _, root := range []string{d.Layout.State, d.Layout.Own()} {
		switch err := safefs.Writable(root, true); {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			return nil // state says so
		case err != nil:
			return []finding.Finding{d.unusable(finding.State, "state", root, err)}
		}
	}
	ofGroups, folders := map[string]bool{}, map[string]bool{groups.GlobalFolder: len(d.Groups) > 0} // queues says so
	prepared, others := d.Layout.OfGroup(groups.GlobalFolder)
	for _, path := range append(prepared, others...) {
		ofGroups[filepath.Dir(path)] = true
	}
	for _, g := range d.Groups {
		folders[g.Folder] = true
	}
	for _, root := range []string{d.Layout.Own(), d.Layout.Groups(), d.Layout.Store()} {
		_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error { // every error is reported, or is that of a missing state
			if err != nil || e.Name() == "lost+found" || e.Name() == operator.SocketName || ofGroups[filepath.Dir(path)] && folders[e.Name()] || len(all) >= maxUnusable {
				return skip(e)
			}
			if !e.IsDir() && !e.Type().IsRegular() {
				return nil
			}
			rel, _ := filepath.Rel(root, path)
			top, _, deep := strings.Cut(rel, string(filepath.Separator))
			if err := d.needs(root, top, deep, e.IsDir())(path, e.IsDir()); err != nil && !errors.Is(err, fs.ErrNotExist) {
				all = append(all, d.unusable(finding.State, "state, "+d.rel(path), path, err))
				return skip(e)
			}
			if deep || root == d.Layout.Groups() && rel != "." {
				return skip(e)
			}
			return nil
		})
	}
	return append(all, d.gone()...)
}

// needs returns the check of a file or directory below root: whether the host writes it, or only
// reads it. Markers, backups, the trail of former days and what was set aside are not written again.
func (d Doctor) needs(root, top string, deep, dir bool) func(string, bool) error {
	switch {
	case !dir && !deep && filepath.Ext(top) == ".marker":
		return safefs.Readable
	case root != d.Layout.Own() || !deep:
		return safefs.Writable
	case top == filepath.Base(d.Layout.Aside()), !dir && top != "channels" && top != filepath.Base(d.Layout.Store()):
		return safefs.Readable
	}
	return safefs.Writable
}

// gone names the directories that a running host has made at its start and that are missing.
func (d Doctor) gone() (all []finding.Finding) {
	prepared, _ := d.Layout.Directories()
	for _, path := range append(prepared, filesDirs(d.Stores)...) {
		if _, err := os.Lstat(path); d.Running && errors.Is(err, fs.ErrNotExist) {
			all = append(all, d.unusable(finding.State, "state, "+d.rel(path), path, err))
		}
	}
	return all
}

func skip(e fs.DirEntry) error {
	if e != nil && e.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// unusable is the finding that the host may not use a file or directory.
func (d Doctor) unusable(name, part, path string, err error) finding.Finding {
	what := d.rel(path)
	if what == "." {
		what = "the state directory " + path
	}
	f := finding.Finding{
		Name: name, Part: part, Severity: finding.Fault, Cause: fmt.Sprintf("%s cannot be read and written: %v", what, safefs.Reason(err)),
		Remedy: cmp.Or(finding.Remedy(err, path), Allow(path)),
	}
	fi, _ := os.Lstat(path)
	switch host, ok := d.owner(); {
	case errors.Is(err, fs.ErrNotExist):
		f.Cause = fmt.Sprintf("%s is gone", d.rel(path))
		f.Remedy = "put it back from a backup; or, if nothing in it is needed, restart the host, which makes it again"
		for _, s := range d.Stores {
			if s.Files != "" && path == filepath.Join(s.Dir, s.Files) { // the host does not start without
				f.Remedy = fmt.Sprintf("put it back from a backup, or mount its disk; if its files are lost: install -d -m 0700 %s && cp %s %s", path, filepath.Join(s.Dir, s.MarkerName()), path)
			}
		}
	case fi != nil && ok && path != d.Layout.State && f.Remedy == Allow(path):
		if uid, known := safefs.UID(fi); known && uid != host {
			f.Remedy = fmt.Sprintf("chown %d %s", host, finding.ShellWord(path))
		}
	}
	return f
}

// disk checks the free space and the kind of file system.
func (d Doctor) disk(context.Context) (all []finding.Finding) {
	fsys, err := safefs.VolumeOf(d.Layout.State)
	if err != nil {
		return nil // state says so
	}
	left := media.Size(int64(fsys.Free)) + " free on the disk of the state directory"
	below := "; below " + media.Size(d.FreeDisk) + " nothing more is accepted"
	switch free := int64(fsys.Free); {
	case d.FreeDisk > 0 && free < d.FreeDisk:
		all = found(finding.Disk, "disk", finding.Fault, left+", and limits.free_disk is "+media.Size(d.FreeDisk)+": nothing new is accepted", finding.MakeRoom)
	case free < 2*d.FreeDisk:
		all = found(finding.Disk, "disk", finding.Warning, left+below, finding.MakeRoom)
	case free < d.FreeDisk+lowSpace:
		all = found(finding.Disk, "disk", finding.Note, left+below, finding.MakeRoom)
	}
	if fsys.Inodes > 0 && fsys.InodesFree < lowInodes {
		all = append(all, found(finding.Disk, "disk", finding.Warning, fmt.Sprintf("%d inodes free on the disk of the state directory", fsys.InodesFree), "remove small files there")...)
	}
	if len(all) == 0 {
		return well("disk", left)
	}
	return all
}

// volume checks the kind of file system.
func (d Doctor) volume(context.Context) []finding.Finding {
	switch fsys, err := safefs.VolumeOf(d.Layout.State); {
	case err != nil: // state says so
	case fsys.Network:
		return found(finding.DiskKind, "disk", finding.Warning, "the state directory is on "+fsys.Name+": no inotify events come from other machines, and SQLite's locks may not hold",
			"move the state directory to a local disk")
	case fsys.Volatile:
		return found(finding.DiskKind, "disk", finding.Warning, "the state directory is on "+fsys.Name+" and is lost when the machine restarts", "move the state directory to a disk")
	}
	return nil
}

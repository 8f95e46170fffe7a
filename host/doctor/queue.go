package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/ipc"
)

// queues checks the directories that containers write into: if an assistant
// replaced one by a link, the host would read or write elsewhere.
func (d Doctor) queues(_ context.Context, h hosting) []Finding {
	root := d.Layout.IPCDir()
	if _, err := realDir(root); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, fs.ErrInvalid) {
			return unusable(d.rel(root), root, err)
		}
		return found("queue", Fault, "ipc in the state directory is not a directory itself", "stop the host, find out who replaced it, and make it again")
	}
	var all []Finding
	for _, g := range d.Groups {
		all = append(all, d.queue(g)...)
		if fi, err := os.Lstat(d.Layout.Workspace(g.Folder)); err == nil && !fi.IsDir() {
			all = append(all, found("queue", Fault, fmt.Sprintf("the workspace of group %s is not a directory itself", g.Folder), "stop the host, find out who replaced it, and make it again")...)
		}
	}
	all = append(all, d.strangers(root, h)...)
	if len(all) == 0 {
		return fine("queue", "the groups' queues are real directories, with the owners they need")
	}
	return all
}

func (d Doctor) queue(g groups.Group) []Finding {
	var all []Finding
	for _, name := range []string{"", ipc.MessagesDir, ipc.FilesDir, ipc.ResultsDir, ipc.InputDir, ipc.ContextDir} {
		path := d.Layout.IPC(g.Folder, name)
		fi, err := realDir(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // made when the host starts
		case err == nil:
			err = safefs.Writable(path, true)
		}
		switch {
		case errors.Is(err, fs.ErrInvalid):
			all = append(all, found("queue", Fault, d.rel(path)+" is not a directory itself", "stop the host, remove it, look at what the group's assistant was told, and start the host")...)
		case err != nil:
			all = append(all, unusable(d.rel(path), path, err)...)
			if name == "" {
				return all // nothing below it can be seen
			}
		case name == "" && d.Layout.V1: // v1's agents make directories of their own in it
			all = append(all, d.agents(path, fi)...)
		case name == "" || name == ipc.ResultsDir || name == ipc.ContextDir:
			all = append(all, d.hosts(path, fi)...)
		default:
			all = append(all, d.agents(path, fi)...)
		}
	}
	return all
}

// hosts checks that only the host can create, rename and delete files in a
// directory.
func (d Doctor) hosts(path string, fi fs.FileInfo) []Finding {
	if mode := fi.Mode(); mode.Perm()&0o002 != 0 && mode&fs.ModeSticky == 0 {
		return found("queue", Fault, fmt.Sprintf("anybody may replace the host's files in %s (mode %04o)", d.rel(path), mode.Perm()), "chmod o-w "+path)
	}
	host, _ := d.owner()
	if uid, ok := safefs.UID(fi); ok && uid != host {
		return found("queue", Warning, fmt.Sprintf("%s belongs to user %d, not to the host's user %d", d.rel(path), uid, host), fmt.Sprintf("chown %d %s", host, path))
	}
	return nil
}

// agents checks that the assistant's user can write to a directory.
func (d Doctor) agents(path string, fi fs.FileInfo) []Finding {
	host, _ := d.owner()
	uid, ok := safefs.UID(fi)
	if !ok || d.Container == "" || fi.Mode().Perm()&0o002 != 0 || uid == agentUser(host) {
		return nil
	}
	return found("queue", Fault, fmt.Sprintf("%s belongs to user %d: the container's user %d cannot write there", d.rel(path), uid, agentUser(host)),
		fmt.Sprintf("chown %d %s", agentUser(host), path))
}

// strangers reports directories that belong to no configured group. The host
// does not serve them, so requests in them wait for ever.
func (d Doctor) strangers(root string, h hosting) []Finding {
	entries, err := safefs.ReadDir(root)
	if err != nil {
		return found("queue", Fault, err.Error(), "run the doctor as the user that the host runs as")
	}
	served := d.served(h)
	var names, lost []string
	for _, e := range entries {
		known := slices.ContainsFunc(d.Groups, func(g groups.Group) bool { return g.Folder == e.Name() })
		switch {
		case e.Name() == ipc.ErrorsDir || known:
		case slices.Contains(served, e.Name()):
			lost = append(lost, e.Name())
		default:
			names = append(names, fmt.Sprintf("%q", e.Name()))
		}
	}
	var all []Finding
	if len(lost) > 0 {
		all = found("queue", Warning, "groups that the host has served are gone from longshore.yaml: "+strings.Join(lost, ", "),
			"write them into the file again; or, if they are to end: longshore reload --remove")
	}
	if len(names) == 0 {
		return all
	}
	return append(all, found("queue", Note, "directories in ipc that belong to no configured group: "+strings.Join(names, ", "), "add the group to longshore.yaml, or remove the directory")...)
}

// served are the folders of the groups that a running host serves, or that one has served.
func (d Doctor) served(h hosting) (folders []string) {
	for _, g := range h.status.Groups {
		folders = append(folders, g.Folder)
	}
	return append(folders, d.Served...)
}

// quarantine counts the entries of the errors folder.
func (d Doctor) quarantine(context.Context, hosting) []Finding {
	n, err := operator.CountJSON(d.Layout.Errors(), operator.ReasonSuffix)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return found("errors", Fault, "the errors folder cannot be read: "+err.Error(), "run the doctor as the user that the host runs as")
	case n > 0:
		return found("errors", Note, fmt.Sprintf("refused requests in the errors folder: %d", n), "see: longshore errors list")
	}
	return fine("errors", "the errors folder is empty")
}

// mounts checks that the groups' additional directories exist.
func (d Doctor) mounts(context.Context, hosting) []Finding {
	var all []Finding
	for _, g := range d.Groups {
		for _, m := range g.Mounts {
			if fi, err := os.Stat(m.Host); err != nil || !fi.IsDir() {
				all = append(all, found("mounts", Warning, fmt.Sprintf("%s, which group %s sees at /workspace/extra/%s, is not a directory", m.Host, g.Folder, m.Name),
					"create it, mount its disk, or remove it from longshore.yaml")...)
			}
		}
	}
	return all
}

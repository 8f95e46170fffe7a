package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/ipc"
)

// queues checks the directories that containers write into: if an assistant
// replaced one by a link, the host would read or write elsewhere.
func (d Doctor) queues(context.Context) (all []finding.Finding) {
	if err := safefs.Writable(d.Layout.State, true); err != nil {
		return nil // state and usable say why
	}
	entries, _ := safefs.ReadDir(d.Layout.IPCDir()) // usable says why not
	for _, g := range d.Groups {
		all = append(all, d.group(g)...)
	}
	all = append(all, d.strangers(entries)...)
	if len(all) == 0 {
		return well("queue", "the groups' queues are real directories, with the owners they need")
	}
	return all
}

// Unusable returns why the directories of a group cannot be made; the zero Finding if nothing is wrong with
// them or those around them.
func (d Doctor) Unusable(g groups.Group) finding.Finding {
	all := d.group(g)
	prepared, _ := d.Layout.Directories()
	for _, path := range prepared {
		if err := safefs.Writable(path, true); errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
			all = append(all, d.unusable(string(cause.Directory), "", path, err))
		}
	}
	for _, f := range all {
		if f.Severity == finding.Fault && f.Name == string(cause.Directory) {
			return f
		}
	}
	return finding.Finding{}
}

// group finds what is wrong with the directories of a group.
func (d Doctor) group(g groups.Group) (all []finding.Finding) {
	part, queue := "group "+g.Folder, d.Layout.IPC(g.Folder, "")
	prepared, others := d.Layout.OfGroup(g.Folder)
	for i, path := range append(prepared, others...) {
		fi, err := realDir(path)
		if i >= len(prepared) && err != nil {
			fi, err = dirAt(path)
		}
		if err == nil {
			err = safefs.Writable(path, true)
		}
		leaf, below := safefs.Below(queue, path)
		switch {
		case errors.Is(err, fs.ErrInvalid):
			all = append(all, found(string(cause.Directory), part, finding.Fault, d.rel(path)+" is not a directory itself", "stop the host, remove it, look at what the group's assistant was told, and start the host")...)
		case fi == nil: // a missing one is made by the host; usable names one above that is closed
		case err != nil && !d.Running && slices.Contains(d.Layout.Lockable(g.Folder), path) && safefs.Mine(fi):
			all = append(all, found(string(cause.Directory), part, finding.Note, d.rel(path)+" lacks rights of its owner's, as an assistant may have taken them away", "longshore serve gives them back")...)
		case err != nil:
			all = append(all, d.unusable(string(cause.Directory), part, path, err))
		case !below:
		case leaf == "." && !d.Layout.V1, leaf == ipc.ResultsDir, leaf == ipc.ContextDir: // in v1's root, its agents make directories of their own
			all = append(all, d.hosts(g, path, fi)...)
		default:
			all = append(all, d.agents(g, path, fi)...)
		}
	}
	return all
}

// hosts checks that only the host can create, rename and delete files in a
// directory.
func (d Doctor) hosts(g groups.Group, path string, fi fs.FileInfo) []finding.Finding {
	if mode := fi.Mode(); mode.Perm()&0o002 != 0 && mode&fs.ModeSticky == 0 {
		return found(finding.Queue, "group "+g.Folder, finding.Fault, fmt.Sprintf("anybody may replace the host's files in %s (mode %04o)", d.rel(path), mode.Perm()), "chmod o-w "+finding.ShellWord(path))
	}
	host, _ := d.owner()
	if uid, ok := safefs.UID(fi); ok && uid != host {
		return found(finding.Queue, "group "+g.Folder, finding.Warning, fmt.Sprintf("%s belongs to user %d, not to the host's user %d", d.rel(path), uid, host), fmt.Sprintf("chown %d %s", host, finding.ShellWord(path)))
	}
	return nil
}

// agents checks that the assistant's user can write to a directory.
func (d Doctor) agents(g groups.Group, path string, fi fs.FileInfo) []finding.Finding {
	host, _ := d.owner()
	uid, ok := safefs.UID(fi)
	if !ok || !d.Container || fi.Mode().Perm()&0o002 != 0 || uid == agentUser(host) {
		return nil
	}
	return found(finding.Queue, "group "+g.Folder, finding.Fault, fmt.Sprintf("%s belongs to user %d: the container's user %d cannot write there", d.rel(path), uid, agentUser(host)),
		fmt.Sprintf("chown %d %s", agentUser(host), finding.ShellWord(path)))
}

// strangers reports directories that belong to no configured group. The host
// does not serve them, so requests in them wait for ever.
func (d Doctor) strangers(entries []fs.DirEntry) (all []finding.Finding) {
	var names, lost []string
	for _, e := range entries {
		known := slices.ContainsFunc(d.Groups, func(g groups.Group) bool { return g.Folder == e.Name() })
		switch {
		case e.Name() == ipc.ErrorsDir || known:
		case slices.Contains(d.Served, e.Name()):
			lost = append(lost, e.Name())
		default:
			names = append(names, fmt.Sprintf("%q", e.Name()))
		}
	}
	if len(lost) > 0 {
		all = found(finding.Groups, "configuration", finding.Warning, "groups that the host has served are gone from longshore.yaml: "+strings.Join(lost, ", "), GoneRemedy)
	}
	if len(names) > 0 {
		all = append(all, found(finding.Unknown, "queue", finding.Note, "directories in ipc that belong to no configured group: "+strings.Join(names, ", "), "add the group to longshore.yaml, or remove the directory")...)
	}
	return all
}

// GoneRemedy is what to do about groups that the file has lost.
const GoneRemedy = "write them into the file again, then: longshore reload; or, if they are to end: longshore reload --remove"

// quarantine counts the entries of the errors folder.
func (d Doctor) quarantine(context.Context) []finding.Finding {
	switch n, err := operator.CountJSON(d.Layout.Errors(), operator.ReasonSuffix); {
	case err != nil: // usable says so
		return nil
	case n > 0:
		return found(finding.Refused, "errors folder", finding.Note, fmt.Sprintf("refused requests in the errors folder: %d", n), "longshore errors list shows them; retry or drop each")
	}
	return well("errors folder", "the errors folder is empty")
}

// Down are the findings about the parts that this machine keeps down, such as a group whose mount is
// missing.
func Down(c *config.Config) (all []finding.Finding) {
	for _, p := range c.Down {
		name := string(cause.Setup)
		if strings.HasPrefix(p.Part, "channel ") {
			name = finding.Channel
		}
		all = append(all, finding.Finding{Name: name, Part: p.Part, Severity: finding.Fault, Cause: p.Key + ": " + p.Message, Remedy: p.Hint})
	}
	return all
}

func (d Doctor) down(context.Context) []finding.Finding { return Down(d.Config) }

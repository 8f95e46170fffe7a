package operator

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/ipc"
)

// outbox looks at the outbox's lock and at the integrity of its database. A
// running host is left alone: it has the database open and reports on itself.
func (d Doctor) outbox(ctx context.Context, h hosting) []Finding {
	dir := d.Layout.Outbox()
	if _, err := realDir(dir); err != nil {
		return nil // state has said so, or there is none yet
	}
	if h.running {
		return fine("outbox", "the running host holds the outbox")
	}
	if pid := lockHolder(d.Proc, filepath.Join(dir, "lock")); pid > 0 {
		return found("outbox", Fault, fmt.Sprintf("process %d holds the outbox and answers no control socket", pid),
			"a host that hangs, or another command at work: look at it with ps, and stop it")
	}
	db := filepath.Join(dir, "outbox.db")
	if _, err := os.Lstat(db); errors.Is(err, fs.ErrNotExist) {
		return fine("outbox", "the outbox is empty")
	}
	words, err := quickCheck(ctx, db)
	switch {
	case err != nil:
		return found("outbox", Fault, "the outbox's database cannot be read: "+err.Error(), "restore state/outbox from a backup; see docs/operations.md")
	case words != "ok":
		return found("outbox", Fault, "the outbox's database is damaged: "+words, "restore state/outbox from a backup; see docs/operations.md")
	}
	return fine("outbox", "the outbox's database is whole")
}

// quickCheck runs SQLite's own check. A database whose log is not folded in
// yet could only be opened by writing beside it, so that one is checked as a
// copy.
func quickCheck(ctx context.Context, path string) (string, error) {
	query := "mode=ro&immutable=1"
	if fi, err := os.Stat(path + "-wal"); err == nil && fi.Size() > 0 {
		tmp, err := os.MkdirTemp("", "longshore-doctor-")
		if err != nil {
			return "", err
		}
		defer func() { _ = os.RemoveAll(tmp) }()
		for _, suffix := range []string{"", "-wal"} {
			if err := copyFile(filepath.Join(tmp, "outbox.db"+suffix), path+suffix); err != nil {
				return "", err
			}
		}
		path, query = filepath.Join(tmp, "outbox.db"), "mode=rw"
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: query}).String())
	if err != nil {
		return "", err
	}
	defer db.Close()
	var words string
	err = db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&words)
	return words, err
}

func copyFile(to, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(dst, src); err != nil {
		_ = dst.Close()
		return err
	}
	return dst.Close()
}

// queues looks at the directories that containers write into: an assistant
// that swapped one for a link would have the host read or write elsewhere.
func (d Doctor) queues(context.Context, hosting) []Finding {
	root := d.Layout.IPCDir()
	if _, err := realDir(root); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
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
	all = append(all, d.strangers(root)...)
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
		case err != nil:
			all = append(all, found("queue", Fault, d.rel(path)+" is not a directory itself", "stop the host, remove it, look at what the group's assistant was told, and start the host")...)
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

// hosts wants a directory in which only the host can make, rename and remove.
func (d Doctor) hosts(path string, fi fs.FileInfo) []Finding {
	if mode := fi.Mode(); mode.Perm()&0o002 != 0 && mode&fs.ModeSticky == 0 {
		return found("queue", Fault, fmt.Sprintf("anybody may replace what the host writes in %s (mode %04o)", d.rel(path), mode.Perm()), "chmod o-w "+path)
	}
	host, _ := d.owner()
	if uid, ok := uidOf(fi); ok && uid != host {
		return found("queue", Warning, fmt.Sprintf("%s belongs to user %d, not to the host's user %d", d.rel(path), uid, host), fmt.Sprintf("chown %d %s", host, path))
	}
	return nil
}

// agents wants a directory that the assistant's user can write.
func (d Doctor) agents(path string, fi fs.FileInfo) []Finding {
	host, _ := d.owner()
	uid, ok := uidOf(fi)
	if !ok || d.Container == "" || fi.Mode().Perm()&0o002 != 0 || uid == agentUser(host) {
		return nil
	}
	return found("queue", Fault, fmt.Sprintf("%s belongs to user %d: the container's user %d cannot write there", d.rel(path), uid, agentUser(host)),
		fmt.Sprintf("chown %d %s", agentUser(host), path))
}

// strangers names directories that belong to no configured group: the host
// does not serve them, and whoever writes there waits for ever.
func (d Doctor) strangers(root string) []Finding {
	entries, err := os.ReadDir(root)
	if err != nil {
		return found("queue", Fault, err.Error(), "run the doctor as the user that the host runs as")
	}
	var names []string
	for _, e := range entries {
		known := slices.ContainsFunc(d.Groups, func(g groups.Group) bool { return g.Folder == e.Name() })
		if e.Name() != ipc.ErrorsDir && !known {
			names = append(names, fmt.Sprintf("%q", e.Name()))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return found("queue", Note, "in ipc and of no configured group: "+strings.Join(names, ", "), "add the group to longshore.yaml, or remove the directory")
}

// quarantine counts what lies in the errors folder.
func (d Doctor) quarantine(context.Context, hosting) []Finding {
	n, err := countJSON(d.Layout.Errors(), reasonSuffix)
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

// mounts looks whether the directories that groups were given are there.
func (d Doctor) mounts(context.Context, hosting) []Finding {
	var all []Finding
	for _, g := range d.Groups {
		for _, m := range g.Mounts {
			if fi, err := os.Stat(m.Host); err != nil || !fi.IsDir() {
				all = append(all, found("mounts", Warning, fmt.Sprintf("%s, which group %s sees at /workspace/extra/%s, is no directory", m.Host, g.Folder, m.Name),
					"make it, or mount the disk it is on, or take it out of longshore.yaml")...)
			}
		}
	}
	return all
}

// reasonSuffix is what the errors folder adds to a request's name for the
// file that says why it lies there.
const reasonSuffix = ".reason.json"

// maxNames is how many names of a directory that an assistant writes are
// counted: it may hold any number.
const maxNames = 10_000

// countJSON counts the names in a directory that end in suffix and are not
// dotted, up to maxNames.
func countJSON(dir, suffix string) (int, error) {
	// Nothing but a directory: a pipe in its place would be waited for.
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	names, err := f.Readdirnames(maxNames)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	n := 0
	for _, name := range names {
		if strings.HasSuffix(name, suffix) && name[0] != '.' {
			n++
		}
	}
	return n, nil
}

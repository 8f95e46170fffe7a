package groups

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// agentID is the user and group of the agent image's unprivileged user.
const agentID = 1000

// AgentUser is the user and group that assistants' containers run as: the
// host's own where it is not root, so that both sides can read what the other
// wrote, and else the image's unprivileged user, never root.
func AgentUser() (uid, gid int) {
	if uid = os.Geteuid(); uid > 0 {
		return uid, os.Getegid()
	}
	return agentID, agentID
}

// Prepare makes every directory that does not exist yet, with these modes:
//
//	state, outbox, store, logs, ipc/errors   0700  the host's
//	groups, groups/global, ipc               0755  the host's
//	groups/<folder>                          0755  AgentUser's
//	ipc/<folder>                             0755  the host's, so that nobody else can put another leaf in place
//	ipc/<folder>/{messages,files,input}      0755  AgentUser's
//	ipc/<folder>/{results,context}           0755  the host's, so that a result cannot be forged
//
// In v1's layout ipc/<folder> is AgentUser's, as v1's agents make directories in
// it, and there are data/sessions/<folder>/.claude, AgentUser's too. Nothing of
// v1's own is changed, so what its host made as another user must be handed
// over by the operator.
//
// What exists keeps its mode and owner, but must be a real directory: a link
// in its place, which an agent might have planted, is an error. Call it before
// any assistant runs.
func (l Layout) Prepare(groups []Group) error {
	if !filepath.IsAbs(l.State) {
		return fmt.Errorf("prepare state directory: %q is not absolute", l.State)
	}
	if err := os.MkdirAll(filepath.Dir(l.State), 0o755); err != nil {
		return fmt.Errorf("prepare state directory: %w", err)
	}
	m := maker{}
	m.dir(l.State, 0o700, false)
	m.dir(l.own(), 0o700, false)
	m.dir(l.Groups(), 0o755, false)
	m.dir(l.Global(), 0o755, false)
	m.dir(l.IPCDir(), 0o755, false)
	if l.V1 {
		m.dir(l.sessions(), 0o755, false)
	}
	for _, private := range []string{l.Errors(), l.Outbox(), l.Store(), l.Logs()} {
		m.dir(private, 0o700, false)
	}
	for _, g := range groups {
		if err := checkFolder(g.Folder); err != nil {
			return fmt.Errorf("prepare groups: %w", err)
		}
		m.dir(l.Workspace(g.Folder), 0o755, true)
		m.dir(l.IPC(g.Folder, ""), 0o755, l.V1)
		if l.V1 {
			m.dir(filepath.Dir(l.Session(g.Folder)), 0o755, false)
			m.dir(l.Session(g.Folder), 0o755, true)
		}
		for _, leaf := range ipcWritable {
			m.dir(l.IPC(g.Folder, leaf), 0o755, true)
		}
		for _, leaf := range ipcReadable {
			m.dir(l.IPC(g.Folder, leaf), 0o755, false)
		}
	}
	return m.err
}

// maker makes directories until one cannot be made.
type maker struct{ err error }

func (m *maker) dir(path string, mode fs.FileMode, agent bool) {
	if m.err != nil {
		return
	}
	if err := makeDir(path, mode, agent); err != nil {
		m.err = fmt.Errorf("prepare directories: %w", err)
	}
}

func makeDir(path string, mode fs.FileMode, agent bool) error {
	info, err := os.Lstat(path) // first, because as a rule it is there
	if errors.Is(err, fs.ErrNotExist) {
		return newDir(path, mode, agent)
	}
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no directory; move it away", path)
	}
	return err
}

// newDir makes a directory where there was none; what somebody put there
// meanwhile is an error.
func newDir(path string, mode fs.FileMode, agent bool) error {
	if err := os.Mkdir(path, mode); err != nil {
		return err
	}
	if err := os.Chmod(path, mode); err != nil { // the umask may have taken bits away
		return err
	}
	if uid, gid := AgentUser(); agent && uid != os.Geteuid() {
		return os.Lchown(path, uid, gid)
	}
	return nil
}

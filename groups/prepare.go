package groups

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// agentID is the user and group of the agent image's unprivileged user.
const agentID = 1000

// AgentUser is the user and group that assistants' containers run as: the
// host's own where it is not root, so that both sides can read what the other
// wrote, and else the image's unprivileged user, never root.
func AgentUser() (uid, gid int) { return AgentUserOf(os.Geteuid(), os.Getegid()) }

// AgentUserOf is AgentUser of a host that runs as the given user and group.
func AgentUserOf(uid, gid int) (int, int) {
	if uid > 0 {
		return uid, gid
	}
	return agentID, agentID
}

// Agent is AgentUser as the owner of a new file.
func Agent() safefs.User {
	uid, gid := AgentUser()
	return safefs.User{UID: uid, GID: gid}
}

func ownerOf(agent bool) safefs.User {
	if agent {
		return Agent()
	}
	return safefs.Self()
}

// Prepare makes every directory that does not exist yet, with these modes:
//
//	state, store, logs, ipc/errors           0700  the host's
//	groups, groups/global, ipc               0755  the host's
//	groups/<folder>                          0755  AgentUser's
//	ipc/<folder>                             0755  the host's, so that nobody else can put another leaf in place
//	ipc/<folder>/{messages,files,input}      0755  AgentUser's
//	ipc/<folder>/{results,context}           0755  the host's, so that a result cannot be forged
//
// In v1's layout ipc/<folder> is AgentUser's, as v1's agents make directories in
// it, and there are ipc/<folder>/tasks and data/sessions/<folder>/.claude,
// AgentUser's too. Nothing of v1's own is changed, so what its host made as
// another user must be handed over by the operator.
//
// What exists keeps its mode and owner, but must be a real directory: a link
// in its place, which an agent might have planted, is an error. So is an
// interrupted restore. Call it before any assistant runs.
func (l Layout) Prepare(groups []Group) error {
	if !filepath.IsAbs(l.State) {
		return fmt.Errorf("prepare state directory: %q is not absolute", l.State)
	}
	if left := l.Interrupted(); left != "" {
		return fmt.Errorf("prepare state directory: a restore was interrupted and has left %s; %s", left, l.AfterInterruption())
	}
	if err := os.MkdirAll(filepath.Dir(l.State), 0o755); err != nil {
		return fmt.Errorf("prepare state directory: %w", err)
	}
	var m maker
	m.own(l.State, 0o700)
	m.own(l.Own(), 0o700)
	for _, shared := range []string{l.Groups(), l.IPCDir()} {
		m.own(shared, 0o755)
	}
	for _, private := range []string{l.Store(), l.Logs(), l.Errors()} {
		m.own(private, 0o700)
	}
	if l.V1 {
		m.own(l.Sessions(), 0o755)
	}
	if m.err != nil {
		return fmt.Errorf("prepare directories: %w", m.err)
	}
	for _, g := range groups {
		if err := l.PrepareGroup(g.Folder); err != nil {
			return err
		}
	}
	return nil
}

// PrepareGroup makes the directories of a group and groups/global, as Prepare does, which has made the
// directories around them.
func (l Layout) PrepareGroup(folder string) error {
	if err := CheckFolder(folder); err != nil {
		return fmt.Errorf("prepare group: %w", err)
	}
	var m maker
	m.own(l.Global(), 0o755)
	m.agents(l.Workspace(folder))
	if l.V1 {
		m.own(filepath.Dir(l.Session(folder)), 0o755)
		m.agents(l.Session(folder))
	}
	if m.err != nil {
		return fmt.Errorf("prepare directories: %w", m.err)
	}
	return l.PrepareQueue(folder)
}

// Interrupted returns the directory that an interrupted restore has left; empty: there is none.
// Without what is in it, the installation is not whole.
func (l Layout) Interrupted() (left string) {
	for _, dir := range l.Restoring().Private() {
		if _, err := os.Lstat(dir); err == nil {
			return l.Restoring().State
		}
	}
	return ""
}

// AfterInterruption says what an operator does after an interrupted restore.
func (l Layout) AfterInterruption() string {
	return "run longshore restore again, which says what is in its way if anything is; to do without the backup, remove " + l.Restoring().State
}

// Sound reports whether a group's directories are all there, real ones, and may be
// used by their owner: then neither Prepare nor GiveBack has anything to do. It
// looks at each once, as a start of thousands of groups has to.
func (l Layout) Sound(folder string) bool {
	if CheckFolder(folder) != nil {
		return false
	}
	home, session := filepath.Join(l.Homes(), folder), l.Session(folder)
	dirs, _ := l.OfGroup(folder)
	if l.V1 {
		dirs = append(dirs, filepath.Dir(session), session, l.IPC(folder, V1Tasks))
	}
	for _, dir := range append(dirs, home) {
		var stat unix.Stat_t
		err := unix.Lstat(dir, &stat)
		if dir == home && errors.Is(err, fs.ErrNotExist) {
			continue // the first assistant in a container makes it
		}
		if err != nil || stat.Mode&unix.S_IFMT != unix.S_IFDIR || stat.Mode&0o700 != 0o700 {
			return false
		}
	}
	return true
}

// PrepareQueue makes ipc/<folder> with its leaves, and ipc/errors, where they
// are missing, as Prepare does. The group's assistant may be running, and
// ipc/ must be there.
func (l Layout) PrepareQueue(folder string) error {
	if err := l.prepareQueue(folder); err != nil {
		return fmt.Errorf("prepare queue of %s: %w", folder, err)
	}
	return nil
}

// PreparePlace makes the directories of Place if they are missing, input and outbox,
// and what the latter is mounted on. Their owner may enter and use them again.
func (l Layout) PreparePlace(folder string, n int) error {
	var m maker
	dir := l.Place(folder, n)
	m.own(filepath.Dir(filepath.Dir(dir)), 0o755)
	m.own(filepath.Dir(dir), 0o755)
	m.own(dir, 0o755)
	for _, own := range []string{filepath.Join(dir, "input"), filepath.Join(dir, DropDir), filepath.Join(l.Workspace(folder), DropDir)} {
		m.agents(own)
		if m.err == nil {
			_, m.err = giveBackBelow(filepath.Dir(own), filepath.Base(own))
		}
	}
	if m.err != nil {
		return fmt.Errorf("prepare directories of an assistant of %s: %w", folder, m.err)
	}
	return nil
}

func (l Layout) prepareQueue(folder string) error {
	if err := CheckFolder(folder); err != nil {
		return err
	}
	ipc, err := safefs.OpenRoot(l.IPCDir())
	if err != nil {
		return err
	}
	defer ipc.Close()
	if err := safefs.MakeDir(ipc, errorsFolder, 0o700, safefs.Self()); err != nil {
		return err
	}
	if err := safefs.MakeDir(ipc, folder, 0o755, ownerOf(l.V1)); err != nil {
		return err
	}
	queue, err := safefs.OpenDir(ipc, folder)
	if err != nil {
		return err
	}
	defer queue.Close()
	writable := IPCWritable
	if l.V1 {
		writable = append(slices.Clone(writable), V1Tasks) // as v1's host has it, should that come back
	}
	for _, leaf := range writable {
		if err := safefs.MakeDir(queue, leaf, 0o755, Agent()); err != nil {
			return err
		}
	}
	for _, leaf := range IPCReadable {
		if err := safefs.MakeDir(queue, leaf, 0o755, safefs.Self()); err != nil {
			return err
		}
	}
	return nil
}

// maker makes directories until one cannot be made.
type maker struct{ err error }

// own makes a directory of the host's.
func (m *maker) own(path string, mode fs.FileMode) { m.dir(path, mode, false) }

// agents makes a directory of AgentUser's.
func (m *maker) agents(path string) { m.dir(path, 0o755, true) }

func (m *maker) dir(path string, mode fs.FileMode, agent bool) {
	if m.err != nil {
		return
	}
	parent, err := safefs.OpenRoot(filepath.Dir(path))
	if err != nil {
		m.err = err
		return
	}
	defer parent.Close()
	m.err = safefs.MakeDir(parent, filepath.Base(path), mode, ownerOf(agent))
}

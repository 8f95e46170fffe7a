package groups

import (
	"path/filepath"
	"slices"
	"strconv"
)

// GlobalFolder is the directory beside the groups' own that all of them see,
// read-only, at /workspace/global. No group may have it as its folder.
const GlobalFolder = "global"

// errorsFolder lies beside the groups' queue directories.
const errorsFolder = "errors"

// DropDir is the directory of a workspace whose files agentrunner sends.
const DropDir = "outbox"

// The leaves of ipc/<folder>, in the order in which they are mounted. The
// container writes the first three; the host alone writes the others.
var (
	IPCWritable = []string{"messages", "files", "input"}
	IPCReadable = []string{"results", "context"}
)

// Layout says where everything lies on the host. Its methods only join names;
// Prepare makes the directories.
type Layout struct {
	State   string // absolute; longshore's own directory, or the root of a NanoClaw v1 installation
	Project string // absolute; what main sees at /workspace/project; empty: nothing
	V1      bool   // State is laid out as NanoClaw v1 does: the queue and the host's own below data/
}

// Groups holds the workspaces.
func (l Layout) Groups() string { return filepath.Join(l.State, "groups") }

// Workspace is the directory of one group.
func (l Layout) Workspace(folder string) string { return filepath.Join(l.Groups(), folder) }

// Global is the directory that all groups see.
func (l Layout) Global() string { return l.Workspace(GlobalFolder) }

// IPCDir holds the queue directories of all groups.
func (l Layout) IPCDir() string { return filepath.Join(l.Own(), "ipc") }

// IPC is one leaf of a group's queue directory ("messages", "results", …), or
// that directory itself when leaf is empty.
func (l Layout) IPC(folder, leaf string) string { return filepath.Join(l.IPCDir(), folder, leaf) }

// Place holds the directories of the group's n-th assistant of those that run at
// the same time, from 1; the first one, 0, has those of the group.
func (l Layout) Place(folder string, n int) string {
	return filepath.Join(l.Own(), "places", folder, strconv.Itoa(n))
}

// Errors is where refused and failed requests are kept for the operator.
func (l Layout) Errors() string { return filepath.Join(l.IPCDir(), errorsFolder) }

// Store is where channels keep their sessions and keys; only the host enters
// it. It is at the same place in v1, whose sessions stay valid.
func (l Layout) Store() string { return filepath.Join(l.State, "store") }

// Channel is where the channel of that name keeps what is no secret: state/whatsapp.
func (l Layout) Channel(name string) string { return filepath.Join(l.Own(), name) }

// Named is where a channel that has a name of its own keeps everything, its
// session and keys too; only the host enters it.
func (l Layout) Named(name string) string { return filepath.Join(l.Own(), "channels", name) }

// Installation holds the installation's id and what it knows of its stores.
func (l Layout) Installation() string { return filepath.Join(l.Own(), "installation") }

// Aside is where what the host no longer uses, and does not delete, is put.
func (l Layout) Aside() string { return filepath.Join(l.Own(), "aside") }

// Backups holds the daily backups of the state, unless the configuration names another directory.
func (l Layout) Backups() string { return filepath.Join(l.Own(), "backups") }

// Audit holds the trail of what left the host.
func (l Layout) Audit() string { return filepath.Join(l.Own(), "audit") }

// AuditMark says which file of the trail is the newest: by it the host knows that files are gone.
func (l Layout) AuditMark() string { return filepath.Join(l.Installation(), "audit.newest") }

// Remote holds the bytes that come from assistants elsewhere.
func (l Layout) Remote() string { return filepath.Join(l.Own(), "remote") }

// Logs holds the logs of the assistants' runs.
func (l Layout) Logs() string { return filepath.Join(l.Own(), "logs") }

// Homes holds the home directories of the assistants' containers, where agents
// keep their conversations. No chat can be sent anything out of it.
func (l Layout) Homes() string { return filepath.Join(l.Own(), "homes") }

// Session is where the agent CLI in NanoClaw v1's image keeps a group's
// conversations. In the directory above it, in every layout, the CLI of an
// assistant without a container keeps its own.
func (l Layout) Session(folder string) string {
	return filepath.Join(l.Sessions(), folder, ".claude")
}

// Temp is the directory for temporary files of a group's assistant without a
// container. It is emptied when the assistant starts and removed when it ends.
func (l Layout) Temp(folder string) string { return filepath.Join(l.Own(), "tmp", folder) }

func (l Layout) Sessions() string { return filepath.Join(l.Own(), "sessions") }

// Directories are those that the host makes in a state, but those of single groups. prepared are made by
// Prepare and must be real ones; others are made when they are needed, and may be links to one.
func (l Layout) Directories() (prepared, others []string) {
	prepared = []string{l.Own(), l.Groups(), l.IPCDir(), l.Store(), l.Logs(), l.Errors()}
	for _, name := range []string{"places", "homes", "sessions", "tmp", "remote", "installation", "aside", "backups", "audit", "channels", "copies"} {
		others = append(others, filepath.Join(l.Own(), name))
	}
	return prepared, append(others, filepath.Join(l.State, "sockets"), filepath.Join(l.State, "model"))
}

// OfGroup is Directories for a group: those that PrepareGroup makes, and those of its assistant.
func (l Layout) OfGroup(folder string) (prepared, others []string) {
	prepared = []string{l.Global(), l.Workspace(folder), l.IPC(folder, "")}
	for _, leaf := range slices.Concat(IPCWritable, IPCReadable) {
		prepared = append(prepared, l.IPC(folder, leaf))
	}
	for _, dir := range []string{l.Logs(), l.Homes(), l.Sessions(), filepath.Join(l.Own(), "places"), filepath.Dir(l.Temp(folder))} {
		others = append(others, filepath.Join(dir, folder))
	}
	return prepared, others
}

// Own is where the host keeps what NanoClaw v1 has no place for.
func (l Layout) Own() string {
	if l.V1 {
		return filepath.Join(l.State, "data")
	}
	return l.State
}

// Private lists the directories that main must not see through the project
// root.
func (l Layout) Private() []string {
	if l.V1 {
		return []string{l.Own(), l.Groups(), l.Store()}
	}
	return []string{l.State}
}

// Restoring is the layout of what a restore prepares. At its end, the directories of
// its Private take the places of those of l, one after the other.
func (l Layout) Restoring() Layout {
	l.State += ".restoring"
	return l
}

// V1Tasks is where v1's host looked for what to schedule or register. The queue's messages
// directory is mounted over it.
const V1Tasks = "tasks"

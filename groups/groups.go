// Package groups says who may send where, and which directories they see.
//
// A [Group] binds one folder of the state directory to one chat. The
// [Registry] turns the claim of a source folder into a [JID]; the [MountMap]
// turns a container's path into an open [File]. Both are the only way to get
// either, so that code which holds a JID or a File holds a decision that was
// made here.
//
// Groups come from longshore.yaml ([Load]), which is checked whole before
// anything opens. A [Layout] knows where everything lies:
//
//	longshore.yaml             configuration, outside every mount that can be written
//	state/groups/<folder>/     a group's workspace, seen at /workspace/group
//	state/groups/global/       shared by all, seen at /workspace/global
//	state/ipc/<folder>/<leaf>  the queue's directories, leaf by leaf
//	state/ipc/errors/          what was refused or failed, for the operator
//	state/outbox/              accepted deliveries, the host's own
//	state/store/               sessions of the channels, the host's own
//	state/logs/                logs of the assistants
//	state/<channel>/           what else a channel keeps
//
// The package does not know the queue's format, the channels or the outbox,
// and it starts no container: it hands out the table that others turn into
// flags. It watches nothing; a changed longshore.yaml is read at the next
// start.
package groups

// Group is one chat with its assistant.
type Group struct {
	Name      string     `yaml:"name"`      // what operators and members read
	Folder    string     `yaml:"folder"`    // its directory's name under groups/ and ipc/; its identity
	Chat      JID        `yaml:"chat"`      // the chat it owns
	Main      bool       `yaml:"main"`      // may send to every registered chat and sees the project root
	Trigger   string     `yaml:"trigger"`   // the word that calls the assistant; empty: every message does
	Assistant string     `yaml:"assistant"` // the name of an entry under assistants:; empty: none
	Mounts    []Extra    `yaml:"mounts"`    // further directories, each from the operator's allowlist
	Limits    KindLimits `yaml:"limits"`    // bytes per media kind, tighter than the channel's; Load adds those of limits.files; may be nil
	Rate      Rate       `yaml:"rate"`      // sends; Load fills in what limits: says where it is zero
}

// Extra is a further directory that a group's container sees at
// /workspace/extra/<Name>.
type Extra struct {
	Name  string `yaml:"name"`  // one path component
	Host  string `yaml:"host"`  // absolute path of a directory on the host, free of symlinks after Load
	Write bool   `yaml:"write"` // read-only unless set
}

// Rate is how often a group may send.
type Rate struct {
	PerMinute int `yaml:"per_minute"`
	Burst     int `yaml:"burst"` // sends at once before the rate counts
}

// KindLimits is bytes per media kind: "image", "video", "audio", "voice",
// "sticker", "document".
type KindLimits map[string]int64

// Error is a refusal of this package: a chat that is not the group's, a path
// it does not see. Its text and hint go to the agent and never hold a host
// path. It is permanent: the same request will be refused again unless the
// agent does what the hint says.
type Error struct {
	Code    string // stable, for programs: one of the Code constants
	Message string // what is wrong, lower case, no period
	Hint    string // what to do about it
}

func (e *Error) Error() string { return e.Message }

// Refusal returns the three parts of the refusal for the protocol's reply.
func (e *Error) Refusal() (code, message, hint string) { return e.Code, e.Message, e.Hint }

// The codes of an Error. They never change their meaning.
const (
	CodeBadJID         = "bad_jid"          // no form of a chat that any channel has
	CodeChatNotAllowed = "chat_not_allowed" // not the group's own chat
	CodeChatUnknown    = "chat_unknown"     // main named a chat that no group owns
	CodeGroupUnknown   = "group_unknown"    // the source directory belongs to no group

	CodeBadPath      = "bad_path"      // empty, relative, too long, a URL, with control characters
	CodePathEscapes  = "path_escapes"  // "..", or a link that leaves its directory
	CodeNotMounted   = "not_mounted"   // lies on no directory that host and container share
	CodePathShadowed = "path_shadowed" // hidden from the container, so hidden from its chat
	CodeMountMissing = "mount_missing" // the shared directory is gone, or another one lies in its place
	CodeFileMissing  = "file_missing"
	CodeFileEmpty    = "file_empty"
	CodeNotAFile     = "not_a_file"   // a directory, a pipe, a device, a socket
	CodeHardLink     = "hard_link"    // may be a second name of a file from elsewhere
	CodeOtherDevice  = "other_device" // something else is mounted inside the shared directory
	CodeUnreadable   = "unreadable"   // the host may not read it
	CodeFileBusy     = "file_busy"    // a lease on the file would make the host wait
)

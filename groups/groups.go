// Package groups says who may send where, and which directories they see.
//
// A [Group] binds one folder of the state directory to one chat. The
// [Registry] turns the claim of a source folder into a [JID]; the [MountMap]
// turns a container's path into an open file. Both are the only way to get
// either, so that code which holds a JID or a [File] holds a decision that was
// made here.
//
// The package does not know the queue, the channels or the outbox; it reads
// longshore.yaml because that file is where groups come from.
package groups

// JID names a chat on a channel, in the form the channel itself uses:
// "1203…@g.us", "slack:C024BE91L", "web:family". Only ParseJID makes one of
// foreign text.
type JID string

// Group is one chat with its assistant.
type Group struct {
	Name      string           // what operators and members read
	Folder    string           // its directory's name under groups/ and ipc/; its identity
	Chat      JID              // the chat it owns
	Main      bool             // may send to every registered chat and sees the project root
	Trigger   string           // the word that calls the assistant; empty: every message does
	Assistant string           // the name of an entry under assistants:; empty: none
	Mounts    []Extra          // further directories, each from the operator's allowlist
	Limits    map[string]int64 // bytes per media kind, tighter than the channel's; may be nil
}

// Extra is a further directory that a group's container sees at
// /workspace/extra/<Name>.
type Extra struct {
	Name  string // one path component
	Host  string // absolute path of a directory on the host
	Write bool   // read-only unless set
}

// Error is a refusal of this package: a chat that is not the group's, a path
// it does not see. Its text and hint go to the agent and never hold a host
// path. It is permanent: the same request will be refused again.
type Error struct {
	Code    string // stable, for programs: "chat_not_allowed", "path_escapes", …
	Message string // what is wrong, lower case, no period
	Hint    string // what to do about it
}

func (e *Error) Error() string { return e.Message }

// Refusal returns the three parts of the refusal for the protocol's reply.
func (e *Error) Refusal() (code, message, hint string) { return e.Code, e.Message, e.Hint }

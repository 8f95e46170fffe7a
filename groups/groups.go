// Package groups says who may send where, and which directories they see.
//
// A [Group] binds one folder of the state directory to one chat. The
// [Registry] turns the claim of a source folder into an [Address], which is the
// only way to get one: code that holds an Address holds a decision that was made
// here.
// Package mounts does the same for files.
//
// A [Layout] knows where everything lies:
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
//	state/channels/<name>/     all that a channel with a name of its own keeps
//
// The package does not know the queue's format, the channels or the outbox,
// and it starts no container: it hands out the table that others turn into
// flags. It watches nothing.
package groups

// Group is one chat with its assistant.
type Group struct {
	Name      string     `yaml:"name"`      // what operators and members read
	Folder    string     `yaml:"folder"`    // its directory's name under groups/ and ipc/; its identity
	Chat      JID        `yaml:"chat"`      // the chat it owns
	Channel   string     `yaml:"channel"`   // the channel that carries it, by its name; Load fills it in
	Main      bool       `yaml:"main"`      // may send to every registered chat and sees the project root
	Trigger   string     `yaml:"trigger"`   // the word that calls the assistant; empty: every message does
	Assistant string     `yaml:"assistant"` // the name of an entry under assistants:; empty: none
	Mounts    []Extra    `yaml:"mounts"`    // further directories, each from the operator's allowlist
	Limits    KindLimits `yaml:"limits"`    // bytes per media kind, tighter than the channel's; Load adds those of limits.files; may be nil
	Rate      Rate       `yaml:"rate"`      // sends; Load fills in what limits: says where it is zero
}

// Address is the group's chat.
func (g Group) Address() Address { return Address{g.Channel, g.Chat} }

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

// The codes of this package's refusals. They never change their meaning.
const (
	CodeBadJID         = "bad_jid"          // no form of a chat that any channel has
	CodeChatNotAllowed = "chat_not_allowed" // not the group's own chat
	CodeChatUnknown    = "chat_unknown"     // main named a chat that no group owns
	CodeChatAmbiguous  = "chat_ambiguous"   // several channels carry the JID that main named
	CodeGroupUnknown   = "group_unknown"    // the source directory belongs to no group
)

package ipc

import "time"

// Context is the host's description of a group for the container's tools, in
// context/context.json. It holds no host path.
type Context struct {
	Group           string              `json:"group"` // display name
	Folder          string              `json:"folder"`
	Main            bool                `json:"main"`
	Chat            string              `json:"chatJid"`
	Channel         string              `json:"channel"`
	Connected       bool                `json:"connected"`
	Chats           []ChatInfo          `json:"chats,omitempty"`           // every chat that the group may send to, if there are others than its own
	Limits          map[string]int64    `json:"limits"`                    // bytes per kind, the smaller of the group's and the channel's limit
	Captions        map[string]int      `json:"captions"`                  // largest caption per kind, in characters; 0: a caption is sent as a message of its own
	Text            int                 `json:"textLimit"`                 // characters of one message; longer text is split
	Types           map[string][]string `json:"types,omitempty"`           // MIME types that the platform shows as a kind; others go as a document. A kind that is missing: all
	LargeAsDocument bool                `json:"largeAsDocument,omitempty"` // a picture or video too large for its kind is sent as a document
	Converts        bool                `json:"converts,omitempty"`        // pictures that are too large are made smaller, and films and sound converted, before they are sent
	Links           *ContextLinks       `json:"links,omitempty"`           // how files that are too large go; missing: they are refused
	Can             []string            `json:"can,omitzero"`              // what else this chat and the group's rights allow: react, edit, unsend, ask, schedule, register, history
	Claude          string              `json:"claudeChannel,omitempty"`   // messages or permissions: what "agentrunner channel" may do; empty: nothing
	Mounts          []ContextMount      `json:"mounts"`
	Host            string              `json:"hostVersion"`
	Time            time.Time           `json:"time"`
}

// ContextLinks says that a file that is too large for the chat goes as a link.
type ContextLinks struct {
	MaxBytes int64 `json:"maxBytes"`  // of one file; the group's own limits hold besides
	Seconds  int64 `json:"expiresIn"` // how long a link can be followed
}

// ChatInfo is a chat that the main group may send to.
type ChatInfo struct {
	Chat    string `json:"chatJid"` // as a request names it: a JID, or "channel/JID" if several channels carry that JID
	Name    string `json:"name"`
	Channel string `json:"channel,omitempty"`
}

// ContextMount is a directory that both the container and the host can open.
type ContextMount struct {
	Path     string `json:"path"` // in the container
	ReadOnly bool   `json:"readOnly"`
	Shadow   bool   `json:"shadow,omitempty"` // files below this path cannot be sent
}

// input is the JSON of a follow-up message in input/, in v1's form.
type input struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

const (
	closeFile   = "_close" // in input/: asks the assistant to end
	ContextFile = "context.json"
)

// Package ipc is the file queue between a container and its host, both ends.
//
// A request is one small JSON file. The container's end ([Client]) writes it
// under a dotted name and renames it into messages/; the host's end ([Spool])
// reads it once, decodes it strictly ([Decode]), hands it out in a [Batch], and
// answers with a [Result] in results/ under the same name.
//
//	ipc/<folder>/messages/<id>.json   requests, written by the container
//	ipc/<folder>/files/<id>/<name>    bytes that the container staged for a request
//	ipc/<folder>/results/<id>.json    results, read-only in the container
//	ipc/<folder>/files/<id>.json      requests too, as some NanoClaw forks write them
//	ipc/<folder>/input/<name>.json    follow-up messages for the assistant; _close ends its session
//	ipc/<folder>/context/context.json what the tools may tell the agent, read-only
//	ipc/errors/<folder>-<id>.json     what was refused, as it was read
//	ipc/errors/<folder>-<id>.reason.json  why, when, and what to do about it
//
// The layout and the field names are NanoClaw v1's where v1 has them.
//
// A request lives as a dotted file, as <id>.json, then as a durable record of
// whoever accepts it, and is unlinked only then. A rename is no claim: the
// container may still hold the file open, so what the spool read once into
// memory is what counts.
//
// The package does not decide who may send what, it does not open the files
// that a request names, and it keeps no record of its own: whoever takes a
// [Batch] does.
package ipc

import (
	"time"

	"github.com/longshore-bridge/longshore/internal/refusal"
)

// Directory names below ipc/<folder>, and the errors folder beside the folders.
const (
	MessagesDir = "messages"
	FilesDir    = "files"
	ResultsDir  = "results"
	InputDir    = "input"
	ContextDir  = "context"
	ErrorsDir   = "errors"
)

// MaxRequest is the largest request, in bytes. A larger one is refused unread.
const MaxRequest = 64 << 10

// Type is what a request asks for.
type Type string

// The types that Decode returns; the forks' other spellings become one of them.
const (
	TypeMessage Type = "message" // Text to the chat
	TypeFile    Type = "file"    // Files to the chat, in order
)

// Request is what an assistant asks its host to carry. Everything in it is a
// claim of the container.
type Request struct {
	Type    Type
	Chat    string // chatJid, or "channel/chatJid"; empty means the group's own chat
	Folder  string // groupFolder; where present it must be the source's own
	Text    string // of a message; a file request has none, its text is the first file's caption
	ReplyTo string // the platform's id of the message that is answered
	Sender  string // v1's optional persona name
	Files   []FileRef
	Time    string // timestamp as the container wrote it; informative
}

// FileRef names one file of a request.
type FileRef struct {
	Path    string // as the container sees it
	Name    string // to show in the chat; empty: the path's last part
	MIME    string // the container's claim; empty: none
	Caption string
	As      string // auto, document, voice, gif, sticker; empty is auto
}

// Status is how far a request has come.
type Status string

// The states of a result. Refused, Failed and Uncertain are final; Sent may still
// become Delivered or Read. A request that its client withdrew has no result.
const (
	Queued    Status = "queued"    // accepted and kept, or waiting for room in the outbox
	Sent      Status = "sent"      // the platform acknowledged it
	Delivered Status = "delivered" // a member's device has it
	Read      Status = "read"      // a member has seen it
	Failed    Status = "failed"    // it was accepted and could not be sent
	Refused   Status = "refused"   // it was not accepted
	Uncertain Status = "uncertain" // the platform never said whether it was shown
)

// Result is the host's answer to one request, as it stands in results/. It is
// replaced as a whole while the request gets on.
type Result struct {
	ID        string    `json:"id"`
	Status    Status    `json:"status"`
	Chat      string    `json:"chatJid,omitempty"`
	Channel   string    `json:"channel,omitempty"`
	MessageID string    `json:"messageId,omitempty"` // the platform's, of the last part that has one
	Code      string    `json:"code,omitempty"`      // of a refusal or failure, stable
	Message   string    `json:"message,omitempty"`   // what is wrong, for the agent
	Hint      string    `json:"hint,omitempty"`      // what to do about it
	Parts     []Outcome `json:"parts,omitempty"`     // one for each file or text, in order
	Progress  *Progress `json:"progress,omitempty"`  // while bytes are on their way
	Time      time.Time `json:"time"`
}

// Outcome is what became of one part of a request.
type Outcome struct {
	Name      string `json:"name,omitempty"` // the file's name in the chat; empty for text
	Kind      string `json:"kind,omitempty"` // image, document, …, text
	Size      int64  `json:"size,omitempty"`
	SHA256    string `json:"sha256,omitempty"`
	Status    Status `json:"status"`
	MessageID string `json:"messageId,omitempty"`
	Code      string `json:"code,omitempty"`
	Message   string `json:"message,omitempty"`
	Hint      string `json:"hint,omitempty"`
	Note      string `json:"note,omitempty"` // e.g. why a picture went as a document
}

// Progress counts the bytes of all files of a request.
type Progress struct {
	Sent  int64 `json:"sent"`
	Total int64 `json:"total"`
}

// Final says whether the status will not change to another outcome; Sent
// counts as final although receipts may still refine it.
func (s Status) Final() bool { return s != Queued && s != "" }

// Refusal is the protocol's reply to a request that is not accepted. Only a
// Refusal's words reach the agent; they never hold a host path.
type Refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`

	// Parts says of each file of a request what is wrong with it, where there
	// are several: a request is taken whole or not at all.
	Parts []Outcome `json:"parts,omitempty"`
}

func (r *Refusal) Error() string { return r.Message }

// Unwrap is the refusal without its parts.
func (r *Refusal) Unwrap() error {
	return &refusal.Error{Code: r.Code, Message: r.Message, Hint: r.Hint}
}

// Context is what the host tells the container's tools about their group, in
// context/context.json. It holds no host path.
type Context struct {
	Group           string           `json:"group"` // name for people
	Folder          string           `json:"folder"`
	Main            bool             `json:"main"`
	Chat            string           `json:"chatJid"`
	Channel         string           `json:"channel"`
	Connected       bool             `json:"connected"`
	Chats           []ChatInfo       `json:"chats,omitempty"`           // main only: every chat it may send to
	Limits          map[string]int64 `json:"limits"`                    // bytes per kind; after group and channel
	Captions        map[string]int   `json:"captions"`                  // characters per kind that a caption may have; 0: sent as its own message
	Text            int              `json:"textLimit"`                 // characters in one message; longer text is split
	LargeAsDocument bool             `json:"largeAsDocument,omitempty"` // a picture or video too large for its kind goes as a document
	Mounts          []ContextMount   `json:"mounts"`
	Host            string           `json:"hostVersion"`
	Time            time.Time        `json:"time"`
}

// ChatInfo is a chat that the main group may send to.
type ChatInfo struct {
	Chat    string `json:"chatJid"` // as a request names it: a JID, or "channel/JID" if several channels carry that JID
	Name    string `json:"name"`
	Channel string `json:"channel,omitempty"`
}

// ContextMount is a directory that container and host both see.
type ContextMount struct {
	Path     string `json:"path"` // in the container
	ReadOnly bool   `json:"readOnly"`
	Shadow   bool   `json:"shadow,omitempty"` // what lies here cannot be sent
}

// input is a follow-up message in input/, as v1 writes it.
type input struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

const (
	closeFile   = "_close" // in input/: the session shall end
	contextFile = "context.json"
)

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
//	ipc/<folder>/results/<time>.batch results of requests that asked for them so, a line each
//	ipc/<folder>/files/<id>.json      requests too, as some NanoClaw forks write them
//	ipc/<folder>/input/<name>.json    follow-up messages for the assistant; _close asks it to end
//	ipc/<folder>/context/context.json what the tools may tell the agent, read-only
//	ipc/errors/<folder>-<id>.json     what was refused, as it was read
//	ipc/errors/<folder>-<id>.reason.json  why, when, and what to do about it
//
// The layout and the field names follow NanoClaw v1, if v1 has them.
//
// A request is first a dotted file, then <id>.json, then a durable record of the
// host. Only after that does the spool unlink the file. A rename proves nothing: the
// container may still hold the file open. So only the bytes count that the spool has
// read once into memory.
//
// The package does not decide who may send what, does not open the files that a
// request names, and keeps no record of its own. The caller who takes a [Batch] does
// that.
package ipc

import (
	"encoding/json"
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

// The types that Decode returns. Decode turns the forks' other spellings into one of
// them.
const (
	TypeMessage Type = "message" // sends text to the chat
	TypeFile    Type = "file"    // sends files to the chat, in order

	TypeReact  Type = "react"  // reacts to the message Target with Emoji
	TypeEdit   Type = "edit"   // replaces the text of the message Target, of the group's own, by Text
	TypeUnsend Type = "unsend" // deletes the message Target, of the group's own, for everybody
	TypeAsk    Type = "ask"    // asks the question Text with Choices

	// The host answers these itself, in Result.Data; the chat sees nothing of them.
	TypeScheduleTask  Type = "schedule_task"
	TypeListTasks     Type = "list_tasks"
	TypeUpdateTask    Type = "update_task"
	TypePauseTask     Type = "pause_task"
	TypeResumeTask    Type = "resume_task"
	TypeCancelTask    Type = "cancel_task"
	TypeRegisterGroup Type = "register_group"
	TypeRefreshGroups Type = "refresh_groups" // NanoClaw v1's: writes the snapshots again
	TypeListMessages  Type = "list_messages"
	TypeFetchFile     Type = "fetch_file"
)

// IsCall says whether the host answers a request of this type itself.
func (t Type) IsCall() bool {
	switch t {
	case TypeScheduleTask, TypeListTasks, TypeUpdateTask, TypePauseTask, TypeResumeTask, TypeCancelTask,
		TypeRegisterGroup, TypeRefreshGroups, TypeListMessages, TypeFetchFile:
		return true
	}
	return false
}

// Request is an assistant's order to send something. Every field is an unverified
// claim of the container. The tags are its form as JSON (field), in v1's names and order.
type Request struct {
	Type    Type   `key:"type"`
	Chat    string `key:"chatJid"`                                        // or "channel/chatJid"; empty: the group's own chat
	Folder  string `key:"groupFolder"`                                    // if given, it must be the source group's own
	Text    string `key:"text" most:"text" of:"message! file edit! ask!"` // of a file request: joined with the first file's caption
	Sender  string `key:"sender"`                                         // v1's optional persona name
	ReplyTo string `key:"replyTo"`                                        // the platform's id of the message to answer
	Thread  string `key:"thread"`                                         // the platform's id of the thread; empty: that of Turn
	Turn    string `key:"turn"`                                           // the id that the host gave the assistant's turn; empty: none

	// Conversation bounds the request to one thread of the group's chat: what lies in
	// another does not exist for it. The host sets it for a token with a thread. Empty: the
	// whole group asks. A container could only narrow itself by it.
	Conversation string `key:"conversation"`

	Batch bool      `key:"results" form:"batch"` // final results go to batch files
	Files []FileRef `key:"files" of:"file"`
	Time  string    `key:"timestamp" form:"scalar"` // as the container wrote it; for information only

	Target  string   `key:"target" of:"react! edit! unsend! fetch_file!"` // the platform's id of a message, or the id of the request that sent it
	Emoji   string   `key:"emoji" of:"react"`                             // empty takes the reaction back
	Choices []string `key:"choices" of:"ask!"`
	Several bool     `key:"several" of:"ask"` // a member may choose more than one
	Seconds int      `key:"seconds" of:"ask"` // how long members may answer; 0: the host's default

	// Those of tasks and groups are NanoClaw v1's.
	TaskID        string `key:"taskId" of:"schedule_task update_task! pause_task! resume_task! cancel_task!"` // empty: the host chooses a new task's
	Prompt        string `key:"prompt" most:"prompt" of:"schedule_task! update_task"`
	ScheduleType  string `key:"schedule_type" of:"schedule_task! update_task"` // cron, interval or once
	ScheduleValue string `key:"schedule_value" form:"scalar" of:"schedule_task! update_task"`
	ContextMode   string `key:"context_mode" of:"schedule_task update_task"`         // group or isolated; empty: group
	TargetJID     string `key:"targetJid" of:"schedule_task"`                        // the chat in which the task runs; empty: the group's own
	Name          string `key:"name" of:"schedule_task update_task register_group!"` // of the task or the group
	JID           string `key:"jid" of:"register_group!"`
	NewFolder     string `key:"folder" of:"register_group"`
	Trigger       string `key:"trigger" of:"register_group"`

	Limit  int    `key:"limit" of:"list_messages"`  // how many; 0: the host's default
	Before string `key:"before" of:"list_messages"` // the id of the oldest message of an earlier answer
	Number int    `key:"number" of:"fetch_file"`    // which file of the message, from 1; 0: the first
}

// FileRef names one file of a request.
type FileRef struct {
	Path    string `key:"filePath,path" most:"path"`          // in the container
	Name    string `key:"fileName,filename,name" most:"name"` // to show in the chat; empty: the last element of Path
	MIME    string `key:"mimeType,mimetype"`                  // the container's claim; empty: none
	Caption string `key:"caption,comment,fileComment" most:"text"`
	Alt     string `key:"alt" most:"alt"`          // what it shows, in words, for members who cannot see it; empty: none
	As      string `key:"as"`                      // auto, document, voice, gif, sticker or original; empty: auto
	From    string `key:"copiedFrom" most:"path"`  // of what Path is a copy; the container's claim; empty: of nothing
	Source  string `key:"printedFrom" most:"path"` // the text that Path was printed from, a container path; the container's claim; empty: none
}

// Status is the state of a request or of one of its parts.
type Status string

// The states of a result. Refused, Done, Failed and Uncertain do not change any more. Sent
// may become Delivered or Read. A request that its client withdrew has no result.
const (
	Queued    Status = "queued"    // accepted and recorded, or waiting for room in the outbox
	Sent      Status = "sent"      // the platform acknowledged it
	Delivered Status = "delivered" // a member's device has it
	Read      Status = "read"      // a member has seen it
	Failed    Status = "failed"    // it was accepted but could not be sent
	Refused   Status = "refused"   // it was not accepted
	Done      Status = "done"      // the host did it, or answered it; nothing went to the chat
	Uncertain Status = "uncertain" // the platform did not answer, so a member may or may not have received it
)

// Result is the host's answer to one request, as stored in results/. The host
// replaces the whole file at each change.
type Result struct {
	ID        string    `json:"id"`
	Status    Status    `json:"status"`
	Chat      string    `json:"chatJid,omitempty"`
	Channel   string    `json:"channel,omitempty"`   // set once the host has recorded the request
	MessageID string    `json:"messageId,omitempty"` // the platform's id, of the last part that has one
	Code      string    `json:"code,omitempty"`      // stable code of a refusal or failure
	Message   string    `json:"message,omitempty"`   // what happened, for the agent
	Hint      string    `json:"hint,omitempty"`      // what to do about it
	Parts     []Outcome `json:"parts,omitempty"`     // one for each file or text, in order
	Progress  *Progress `json:"progress,omitempty"`  // while bytes are being sent
	Time      time.Time `json:"time"`

	// Data is the answer to a call, and what came of a question: an object of at most
	// MaxData bytes, whose "words" say the same for people.
	Data json.RawMessage `json:"data,omitempty"`
}

// MaxData is the most bytes of Result.Data.
const MaxData = 48 << 10

// Outcome is the result of one part of a request.
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
	Note      string `json:"note,omitempty"` // for example why a picture was sent as a document
}

// Progress counts the bytes of all files of a request.
type Progress struct {
	Sent  int64 `json:"sent"`
	Total int64 `json:"total"`
}

// Final reports whether the request has reached an end. Sent is final, although
// receipts may still turn it into Delivered or Read.
func (s Status) Final() bool { return s != Queued && s != "" }

// Reached reports whether the chat has it.
func (s Status) Reached() bool { return s == Sent || s == Delivered || s == Read }

// Refusal says why a request was not accepted. The agent sees the texts, so they
// never hold a host path.
type Refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`

	// Parts holds the problem of each file if the request has several. A request is
	// accepted or refused as a whole.
	Parts []Outcome `json:"parts,omitempty"`
}

func (r *Refusal) Error() string { return r.Message }

// Unwrap returns the refusal without its parts.
func (r *Refusal) Unwrap() error {
	return &refusal.Error{Code: r.Code, Message: r.Message, Hint: r.Hint}
}

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
	contextFile = "context.json"
)

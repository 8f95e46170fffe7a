package ipc

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

// IsCall reports whether the host itself answers a request of this type.
func (t Type) IsCall() bool {
	switch t {
	case TypeScheduleTask, TypeListTasks, TypeUpdateTask, TypePauseTask, TypeResumeTask, TypeCancelTask,
		TypeRegisterGroup, TypeRefreshGroups, TypeListMessages, TypeFetchFile:
		return true
	}
	return false
}

// NoTurn is the value of Request.Turn for a request that belongs to no turn. Without a
// thread, such a request goes to the chat itself.
const NoTurn = "-"

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

	// Conversation limits the request to one thread of the group's chat: messages in other
	// threads are unknown to it. The host sets it for a token with a thread. Empty: no
	// limit. A container that sets it can only narrow its own request.
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

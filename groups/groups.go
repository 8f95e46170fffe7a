// Package groups says who may send where, and which directories they see.
//
// A [Group] binds one folder of the state directory to one chat. The
// [Registry] turns what a source folder claims into an [Address] to which the folder
// may send: Authorize alone decides that. Package mounts does the same for files.
//
// A [Layout] knows where everything lies:
//
//	longshore.yaml             configuration, outside every mount that can be written
//	state/groups/<folder>/     a group's workspace, seen at /workspace/group
//	state/groups/global/       shared by all, seen at /workspace/global
//	state/ipc/<folder>/<leaf>  the queue's directories, leaf by leaf
//	state/ipc/errors/          what was refused or failed, for the operator
//	state/longshore.db         what is the host's own, with blobs/ beside it
//	state/store/               sessions of the channels, the host's own
//	state/logs/                logs of the assistants
//	state/places/<folder>/<n>/ input and drop directory of a further assistant that runs at the same time
//	state/<channel>/           what else a channel keeps
//	state/channels/<name>/     all that a channel with a name of its own keeps
//
// The package does not know the queue's format, the channels or the outbox,
// and it starts no container: it hands out the table that others turn into
// flags. It watches nothing.
package groups

import (
	"cmp"
	"reflect"
	"time"

	"github.com/longshore-bridge/longshore/host/setting"
)

// Group is one chat with its assistant. Its tags are those of longshore.yaml,
// which package config reads.
type Group struct {
	Name      string     `yaml:"name" form:"label" help:"What people read. Without it, the folder."`
	Folder    string     `yaml:"folder" required:"true" form:"group" help:"Its directory's name; its identity. Not global or errors."`
	Chat      JID        `yaml:"chat" required:"true" help:"The chat it owns, as its channel writes it, such as web:family."`
	Channel   string     `yaml:"channel" help:"The name of the channel that carries it. Needed if several could."` // Load fills it in
	Main      bool       `yaml:"main" help:"May send to every registered chat and sees the project directory. One group at most."`
	MaySendTo []string   `yaml:"may_send_to" help:"Folders of other groups, and names of destinations, to whose chats this group may send too. main may send to all."`
	Trigger   string     `yaml:"trigger" form:"label" help:"The word that calls the assistant. Without it, every message does."`
	Hints     Hints      `yaml:"hints" enum:"auto,on,off" help:"Whether the chat is told which word calls the assistant: on the chat page at all times, elsewhere after an unanswered first message. auto: on the page and in direct chats."`
	Failures  Failures   `yaml:"failures" enum:"assistant,chat" help:"Who hears that a file could not be sent after the assistant had stopped waiting for it. chat: the assistant and the chat."`
	Assistant string     `yaml:"assistant" help:"A name below assistants. Without it, nobody answers."`
	Engine    Engines    `yaml:"engine" help:"The engine on which the group's container runs, or a list of them. Without it, those of its assistant."`
	Threads   Threads    `yaml:"threads" enum:"own,flat" help:"own: each thread of the chat is a conversation of its own. flat: the chat is one conversation."`
	Gather    Gather     `yaml:"gather" help:"How long members' messages that follow each other closely are gathered into one turn."`
	Timezone  string     `yaml:"timezone" form:"zone" help:"The time zone of the group's prompts and schedules. Without it, that of the whole file."`
	Events    Events     `yaml:"events" enum:"notes,turn,off" help:"Edits, deletions, reactions and votes: notes: the assistant reads them with its next turn. turn: they start a turn. off: it never reads them."`
	History   History    `yaml:"history" enum:"given,all" help:"Which of the members' messages the assistant may look at again: given: those that a turn was given. all: every one that the host has heard since."`
	TextFiles TextFiles  `yaml:"text_files" enum:"prompt,path" help:"prompt: the text of a member's small text file (up to 16 KiB) stands in the prompt. path: only its name and path."`
	Speech    Speech     `yaml:"transcription" enum:"on,off" help:"off: voice notes of this group's members are not turned into text."`
	Members   Members    `yaml:"members" help:"Who may speak to the assistant, and who may use /stop and /new."`
	Ack       string     `yaml:"ack" help:"An emoji, such as 👀: the assistant reacts with it to the message that it works on, until its turn is over. Without it, it does not."`
	Actions   Actions    `yaml:"actions" help:"What the assistant may do beside sending: all, none, or a list of react, edit, unsend, ask, schedule, history, register."`
	Parallel  int        `yaml:"parallel" min:"1" max:"16" help:"Threads that are answered at the same time, each by a container of its own."` // 0: 1
	Mounts    []Extra    `yaml:"mounts" help:"Further directories, each from mounts.allow."`
	Limits    KindLimits `yaml:"limits" help:"Bytes per kind of file, tighter than the channel's."` // Load adds those of limits.files; may be nil
	MaySend   MaySend    `yaml:"may_send" help:"Which files may leave the group, and when. Without it, all that the screen and the limits let through."`
	Approve   Approve    `yaml:"approve" help:"What waits until a person says yes to it. Without it, nothing."`
	Rate      Rate       `yaml:"rate" help:"Sends of this group. What is left out is as below limits."`
	Budget    Budget     `yaml:"budget" help:"What the model's calls of the group may use. Without it, that below limits."`

	RegisteredBy string `yaml:"registered_by" form:"group" help:"The folder of the group whose assistant has registered this one. Restrictions that this entry does not state are those of that group, and both spend one budget."`
}

// Inherit gives a group that another one has registered the maker's restrictions, where it
// states none of its own. The budget is not copied: both groups spend that of the maker.
func (g *Group) Inherit(maker Group) {
	if reflect.ValueOf(g.MaySend).IsZero() {
		g.MaySend = maker.MaySend
		if g.MaySend.Hours != "" { // they are the maker's hours
			g.Timezone = cmp.Or(g.Timezone, maker.Timezone)
		}
	}
	if reflect.ValueOf(g.Approve).IsZero() {
		g.Approve = maker.Approve
	}
	if g.Actions == nil {
		g.Actions = maker.Actions
	}
	g.Rate.PerMinute = cmp.Or(g.Rate.PerMinute, maker.Rate.PerMinute)
	g.Rate.Burst = cmp.Or(g.Rate.Burst, maker.Rate.Burst)
	for kind, size := range maker.Limits {
		if own, set := g.Limits[kind]; !set || own > size {
			if g.Limits == nil {
				g.Limits = KindLimits{}
			}
			g.Limits[kind] = size
		}
	}
}

// Engines are names of container engines: one, or a list.
type Engines []string

// UnmarshalText reads Engines that are one name; a list is read element by element.
func (e *Engines) UnmarshalText(text []byte) error {
	*e = Engines{string(text)}
	return nil
}

// Threads says what a thread of a group's chat is to its assistant.
type Threads string

// The values of Threads, if the channel has any. The zero value is OwnThreads.
const (
	OwnThreads Threads = "own"  // a conversation of its own
	Flat       Threads = "flat" // part of the chat's one conversation, whose answers go to the chat itself
)

// SetDefaults fills in what an absent key of longshore.yaml means. The zero Group
// gathers nothing.
func (g *Group) SetDefaults() {
	g.Gather = Gather{After: setting.Duration(1500 * time.Millisecond), Most: setting.Duration(10 * time.Second)}
	g.Events = EventNotes
}

// Gather is how members' messages become one turn: it starts After the last of them,
// and at the latest Most after the first that calls the assistant. The zero value
// starts a turn at once.
type Gather struct {
	After setting.Duration `yaml:"after" max:"60s" help:"After the last message; 0s: at once."`
	Most  setting.Duration `yaml:"most" max:"5m" help:"After the first message that calls the assistant, however many follow."`
}

// Events says what members' edits, deletions, reactions and votes are to a group's
// assistant.
type Events string

// The values of Events. The zero value is EventNotes.
const (
	EventNotes Events = "notes" // it reads them with its next turn
	EventTurn  Events = "turn"  // they call it
	EventOff   Events = "off"   // it never reads them
)

// Speech says whether voice notes of a group's members are turned into text, if
// the operator has a way. The zero value is on.
type Speech string

// SpeechOff is the other value.
const SpeechOff Speech = "off"

// TextFiles says whether the text of members' small text files stands in the prompt. The
// zero value is that it does.
type TextFiles string

// TextFilesPath is the other value: the prompt names the file alone.
const TextFilesPath TextFiles = "path"

// History says which earlier messages of members a group's assistant may look at again.
// The zero value is those that one of its turns was given.
type History string

// HistoryAll is the other value: all that the host hears.
const HistoryAll History = "all"

// Hints says whether a chat is told which word calls its assistant.
type Hints string

// The values of Hints. The zero value is AutoHints.
const (
	AutoHints Hints = "auto" // on the chat page and in direct chats
	HintsOn   Hints = "on"
	HintsOff  Hints = "off"
)

// Failures says who hears of a delivery that failed after the assistant had stopped
// waiting for it.
type Failures string

// The values of Failures. The zero value is FailuresToAssistant.
const (
	FailuresToAssistant Failures = "assistant"
	FailuresToChat      Failures = "chat" // and to the assistant
)

// Address is the group's chat.
func (g Group) Address() Address { return Address{g.Channel, g.Chat} }

// Extra is a further directory that a group's container sees at
// /workspace/extra/<Name>. After Load its Host is absolute and free of symlinks.
type Extra struct {
	Name  string `yaml:"name" required:"true" form:"mount" help:"One path component: it is seen at /workspace/extra/<name>."`
	Host  string `yaml:"host" required:"true" help:"The directory on the host."`
	Write bool   `yaml:"write" help:"Whether the group may write there."`
}

// Budget is what a group's calls of its model may use.
type Budget struct {
	Tokens int64   `yaml:"tokens" above:"0" max:"1000000000000" help:"Tokens of all kinds."`
	USD    float64 `yaml:"usd" above:"0" max:"1000000" help:"US dollars, by prices."`
	Per    string  `yaml:"per" enum:"day,month" help:"The time after which it begins anew, at midnight in the group's time zone. Without it, day."`
}

// Limited reports whether the budget limits anything.
func (b Budget) Limited() bool { return b.Tokens > 0 || b.USD > 0 }

// Rate is how often a group may send.
type Rate struct {
	PerMinute int `yaml:"per_minute" above:"0" help:"Sends a minute."`
	Burst     int `yaml:"burst" above:"0" help:"Sends at once before the rate counts."`
}

// KindLimits is bytes per media kind: "image", "video", "audio", "voice",
// "sticker", "document".
type KindLimits map[string]int64

// The codes of this package's refusals. They never change their meaning.
const (
	CodeBadJID         = "bad_jid"          // no form of a chat that any channel has
	CodeChatNotAllowed = "chat_not_allowed" // not the group's own chat, nor one of may_send_to
	CodeChatUnknown    = "chat_unknown"     // main named a chat that no group owns
	CodeChatAmbiguous  = "chat_ambiguous"   // several channels carry the JID that main named
	CodeGroupUnknown   = "group_unknown"    // the source directory belongs to no group
)

package channel

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/media"
)

// Kind is what a member did with an Inbound.
type Kind string

// The kinds. The zero Kind is a message.
const (
	KindMessage    Kind = ""           // wrote: Text, Files, Quote, Direct
	KindEdit       Kind = "edit"       // changed the message Target: Text is the new text
	KindDeletion   Kind = "deletion"   // deleted the message Target for everybody
	KindReaction   Kind = "reaction"   // reacted to Target: Emoji
	KindVote       Kind = "vote"       // voted in the poll Target: Choices
	KindLocation   Kind = "location"   // showed a place: Location, the same in words in Text; Quote and Direct as of a message
	KindContact    Kind = "contact"    // showed somebody's name and number: both in words in Text; Quote and Direct as of a message
	KindPoll       Kind = "poll"       // made a poll: question and choices in words in Text; Quote and Direct as of a message
	KindSticker    Kind = "sticker"    // sent a sticker: its name in words in Text, its picture in Files if it is one; Quote and Direct as of a message
	KindNote       Kind = "note"       // did what the platform shows in the chat and nobody has to answer, such as a pin, a call or an event: Text
	KindMembership Kind = "membership" // Joined and Left; the sender is who added or removed them, if the platform says so
)

// Role is what a member may do in a chat.
type Role string

// The roles.
const (
	RoleUnknown Role = ""
	RoleMember  Role = "member"
	RoleAdmin   Role = "admin"
)

// Inbound is what a member wrote or did in a chat. The channel keeps it durable from the moment
// at which the platform forgets it until the Inbox has kept it, or has refused it for a day.
// After a crash it may come twice; see Inbox. Of events that are no message the channel may keep
// the latest few hundred alone, so that a flood of reactions is cheap. Everything in it is
// foreign, and bounded by the channel.
type Inbound struct {
	Kind   Kind
	ID     string // the platform's, of this and not of Target; one sender uses it once in a chat
	Chat   groups.JID
	Thread string // the platform's id of the thread in the chat; empty: none
	From   string // the member's name, as CleanName leaves it; not an identity
	Sender string // who the platform itself says wrote it, the same in all chats; may be a phone number, so not for a model. Empty if nobody vouches
	Also   string // another id by which the platform vouches for the sender, such as a number beside a hidden id; may be empty
	Role   Role   // of the sender, as far as the channel knows it without asking. Admin if the chat is the sender's own, or has no roles and belongs to all who are in it
	Time   time.Time

	// Target is the platform's id of the message that is edited, deleted, reacted to or voted
	// on, as the sender claims: there may be no such message, or it may be another member's.
	Target string

	Text      string
	Files     []Attachment
	Quote     *Quote // what it answers; may be nil
	Forwarded bool   // its writer says that somebody else wrote it
	Author    string // of a forwarded message: who wrote it, by the platform's word, as From; may be empty

	// Told is the platform's own name of a kind of message that the channel cannot show, such
	// as "dice"; ToldName reports its form. Text then says what it was, in the channel's words.
	// Told is empty if nothing of the message is lost.
	Told string

	Direct bool // speaks to the assistant without its trigger word: a mention, a reply to it

	// Command is the host's word that the member gave in the platform's own way:
	// stop, new, status or help. Empty: none, or it stands in Text.
	Command string

	Emoji        string   // as CleanName leaves it; empty: the reaction is taken back
	Outside      bool     // of a vote: the platform does not say that its sender is in the chat. It has no Choices and does not count; the host tells the chat once
	Choices      []string // all that the sender chooses from now on; none: the vote is taken back
	Location     *Location
	Joined, Left []Person

	// Entry is the channel's own record of this; nil: it has none.
	Entry Entry
}

// Entry is what a channel keeps of an Inbound until the Inbox has it.
type Entry interface {
	// Done ends the entry in the transaction that makes the Inbound durable for the host: a crash
	// leaves it with the channel or with the host, never with both. An Inbox that keeps nothing of
	// an Inbound need not call it.
	Done(t *state.Tx) error
}

// Location is a place on earth.
type Location struct {
	Latitude, Longitude float64 // degrees
	Name                string  // with its address, one line; may be empty
}

// String returns the location in words, for Inbound.Text.
func (l Location) String() string {
	return strings.TrimSpace(fmt.Sprintf("Location: %.6f, %.6f %s", l.Latitude, l.Longitude, l.Name))
}

// Person is a member that is not the sender.
type Person struct {
	Name   string // as Inbound.From
	Sender string // as Inbound.Sender
}

// Attachment is a file that a member sent. After Receive, the host asks the channel, a Fetcher,
// for its bytes; it may ask after a restart, too.
type Attachment struct {
	media.Info
	Ref string // names the file to its channel
}

// Roles is implemented by a channel that can ask its platform what a member may do.
type Roles interface {
	// RoleOf asks for the present role in a chat of the member with that Inbound.Sender. It
	// returns RoleUnknown if the platform gives none. An error is temporary.
	RoleOf(ctx context.Context, chat groups.JID, sender string) (Role, error)
}

// Fetcher is implemented by every channel that has files of members.
type Fetcher interface {
	// Fetch copies a file's bytes to this host and opens the copy, so that reading it does not wait
	// for the platform. The size bounds the time. A Permanent *Error means that the file cannot be
	// had any more, a Held one that the platform was not asked. Other errors are temporary.
	Fetch(ctx context.Context, f FileRef) (io.ReadCloser, error)
}

// FileRef is one file of a member.
type FileRef struct {
	Chat    groups.JID
	Ref     string // of its Attachment
	Patient bool   // wait for bytes that come slowly; otherwise they soon end the attempt
}

// Unfetchable returns the permanent error of a file that cannot be had any more. why is in words
// for the agent.
func Unfetchable(why string) error {
	return &Error{Class: Permanent, Code: "not_fetchable", Message: why, Hint: "ask the member to send the file again"}
}

// Quote is the message that another one answers. From, Sender and Text are of the message
// itself, from the channel's own record or the platform. Without either, the quote is Unverified.
type Quote struct {
	ID         string
	From       string
	Sender     string // as Inbound.Sender; may be empty
	Also       string // as Inbound.Also
	Text       string
	Selected   string // the part of the text that the member marked; empty: all of it
	Forwarded  bool   // as Inbound.Forwarded
	Elsewhere  bool   // it stands in another chat
	Own        bool   // the assistant's, by the channel's own record
	Unverified bool   // only its quoter claims it; never with Sender or Own

	// Files are those of the message. The host fetches them like those of the answer; a file
	// without a Ref cannot be had any more.
	Files []Attachment `json:"-"`
}

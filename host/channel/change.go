package channel

import (
	"context"
	"time"

	"github.com/longshore-bridge/longshore/groups"
)

// Change edits, deletes or reacts to a message that a chat has already, or ends its question.
// Making a change twice shows what making it once shows, so the host repeats a change if it
// does not know whether it was made. The errors have the classes of Send; the error is
// Permanent, too, if the platform no longer has the message or no longer allows the change.
type Change struct {
	ID     string // made before the first attempt, the same on every retry; 32 lower-case hex digits
	Chat   groups.JID
	Thread string    // that has Target; empty: the chat itself
	Target string    // the platform's id of the message: a Receipt.ID of this channel or, for a reaction, an Inbound.ID
	Sent   time.Time // when Target was sent, as its Receipt says
	Files  bool      // Target has files: an edit replaces their caption

	Text  string // of an edit, in the form of Limits.Markup, at most Limits.Text units; of EndPoll: how it ended, plain
	Emoji string // of a reaction: one emoji; empty takes the account's reaction back
}

// Editor is implemented by a channel whose account can change the text of what it sent.
type Editor interface {
	Edit(ctx context.Context, c Change) error
	// EditWithin returns how long after it was sent a message may be edited; Forever: always.
	EditWithin() time.Duration
}

// Reactor is implemented by a channel whose account can react to a message with an emoji.
type Reactor interface {
	React(ctx context.Context, c Change) error
}

// Unsender is implemented by a channel whose account can delete for everybody what it sent.
type Unsender interface {
	Unsend(ctx context.Context, c Change) error
	// UnsendWithin returns how long after it was sent a message may be deleted; Forever: always.
	UnsendWithin() time.Duration
}

// Poll has the choices of a question, which is Message.Text and plain. A vote comes in as a
// KindVote: its Target is the Receipt's ID, its Choices are texts of these Choices. Only a
// channel with Limits.Poll gets a Poll.
type Poll struct {
	Choices []string // two at least; plain text, one line each, all different
	Several bool     // a member may choose more than one
}

// PollEnder is implemented by a channel that can show that a question is closed.
type PollEnder interface {
	// EndPoll takes no more votes on Target and shows how it ended.
	EndPoll(ctx context.Context, c Change) error
}

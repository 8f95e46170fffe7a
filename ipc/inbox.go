package ipc

import "time"

// Inbox is the answer to a remote assistant that fetches its messages: those of its
// conversation that it has not acknowledged, oldest first.
type Inbox struct {
	Messages []Message `json:"messages"`
	Cursor   string    `json:"cursor,omitempty"` // of the last message, for the next fetch
	Waiting  int       `json:"waiting"`          // number of unacknowledged messages, including those before the cursor
}

// Message is one message for a remote assistant. A member wrote the texts, except those
// of a notice, which are the host's, and of a task, which was scheduled.
type Message struct {
	ID        string        `json:"id"`                   // for the acknowledgement
	Kind      string        `json:"kind"`                 // message, notice, event or task
	Calls     bool          `json:"calls"`                // it asks for an answer; otherwise it is for information
	Time      time.Time     `json:"time"`                 // when it was written
	Thread    string        `json:"thread,omitempty"`     // the platform's
	MessageID string        `json:"message_id,omitempty"` // the platform's: for reply_to
	From      string        `json:"from,omitempty"`       // the member's display name
	SenderID  string        `json:"sender_id,omitempty"`  // a stable pseudonym of the member
	Text      string        `json:"text"`
	Forwarded bool          `json:"forwarded,omitempty"`
	Author    string        `json:"author,omitempty"` // who wrote what is forwarded, if the platform says so
	Event     string        `json:"event,omitempty"`  // of an event: edit, deletion, reaction, vote or note
	Target    string        `json:"target,omitempty"` // of an event: the platform's id of the message
	Quote     *Quote        `json:"quote,omitempty"`  // the message that it answers
	Files     []MessageFile `json:"files,omitempty"`
}

// Quote is a message that another one answers.
type Quote struct {
	MessageID  string `json:"message_id,omitempty"`
	From       string `json:"from,omitempty"`
	SenderID   string `json:"sender_id,omitempty"`
	Text       string `json:"text"`
	Own        bool   `json:"yours,omitempty"`      // the assistant's own message
	Unverified bool   `json:"unverified,omitempty"` // quoted by the writer of the answer, and not checked
	Selected   string `json:"selected,omitempty"`   // the part that the answer is about; empty: all of it
	Forwarded  bool   `json:"forwarded,omitempty"`  // its writer had forwarded it
	Elsewhere  bool   `json:"elsewhere,omitempty"`  // it is from another chat
}

// MessageFile is a file of a message, which is fetched by its number.
type MessageFile struct {
	Number     int    `json:"n"` // from 1
	Name       string `json:"name"`
	Kind       string `json:"kind,omitempty"`
	MIME       string `json:"mime_type,omitempty"`
	Size       int64  `json:"size"`                 // bytes, exactly, unless it is missing
	Quoted     bool   `json:"quoted,omitempty"`     // of the message that is answered
	Missing    string `json:"missing,omitempty"`    // why it cannot be fetched
	Transcript string `json:"transcript,omitempty"` // of a voice note, by a machine
}

// Permission is the question of a remote session whether it may use one of its own tools.
// The session wrote all texts.
type Permission struct {
	ID          string    `json:"id"`
	Tool        string    `json:"tool,omitempty"`
	Description string    `json:"description,omitempty"` // what the tool would do
	Input       string    `json:"input,omitempty"`       // the beginning of its parameters
	Answer      string    `json:"answer,omitempty"`      // Allowed or Denied; empty: not answered yet
	Expires     time.Time `json:"expires,omitzero"`      // after that the answer is Denied
}

// The answers to a Permission.
const (
	Allowed = "allow"
	Denied  = "deny"
)

package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// Verb is what an Act does.
type Verb string

// The verbs.
const (
	VerbEdit    Verb = "edit"    // Part.Text is the new text
	VerbReact   Verb = "react"   // with Emoji
	VerbUnsend  Verb = "unsend"  //
	VerbEndPoll Verb = "endpoll" // Part.Text is how the question ended
)

// Act is a change to a message that the chat already has. The part keeps its place in the
// order of the chat and is retried like a message. A change may be made twice without harm
// (see [channel.Change]), so the part is never in doubt.
type Act struct {
	Verb   Verb      `json:"verb"`
	Target string    `json:"target"` // the platform's id of the message
	Sent   time.Time `json:"sent,omitzero"`
	Files  bool      `json:"files,omitempty"` // the message has files
	Emoji  string    `json:"emoji,omitempty"`

	// A change of a message that was on its way when the change was accepted has no Target
	// until the message is sent. Of and Part say which message it is.
	Of   string `json:"of,omitempty"`   // the key of its delivery
	Part int    `json:"part,omitempty"` // its position there
}

// stored is the JSON in the part table of a part that is more than a text or files.
type stored struct {
	Act      *Act        `json:"act,omitempty"`
	Question *Question   `json:"question,omitempty"`
	Link     *storedLink `json:"link,omitempty"`
	Asks     string      `json:"asks,omitempty"`
	Host     bool        `json:"host,omitempty"`
}

func (p *Part) actText() (string, error) {
	if p.plain() && p.Link == nil && p.Asks == "" && !p.Host {
		return "", nil
	}
	b, err := json.Marshal(stored{p.Act, p.Question, p.Link.stored(), p.Asks, p.Host})
	return string(b), err
}

func (p *Part) setAct(text string) error {
	if text == "" {
		return nil
	}
	var a stored
	err := json.Unmarshal([]byte(text), &a)
	p.Act, p.Question, p.Link, p.Asks, p.Host = a.Act, a.Question, a.Link.link(), a.Asks, a.Host
	return err
}

// byHost reports whether the host speaks with this part, or asks people for an approval. No
// assistant may read it again or change it: it could show its members other words than
// those that they answer.
func (p *Part) byHost() bool {
	return p.Host || p.Asks != "" || p.Question != nil && p.Question.Approval != ""
}

// plain reports whether a part is a message with a text or files.
func (p *Part) plain() bool { return p.Act == nil && p.Question == nil }

// Can reports whether a channel supports a verb.
func Can(c channel.Channel, v Verb) (can bool) {
	switch v {
	case VerbEdit:
		_, can = c.(channel.Editor)
	case VerbReact:
		_, can = c.(channel.Reactor)
	case VerbUnsend:
		_, can = c.(channel.Unsender)
	case VerbEndPoll:
		_, can = c.(channel.PollEnder)
	}
	return can
}

// act calls the channel to make the change of a part.
func (o *Outbox) act(ctx context.Context, ch channel.Channel, a *attempt) error {
	return o.call(ctx, ch, 0, func(ctx context.Context) error {
		return late(ctx, makeChange(ctx, ch, a.part.Act.Verb, o.changeOf(a)))
	})
}

func (o *Outbox) changeOf(a *attempt) channel.Change {
	c := channel.Change{
		ID: a.part.MessageID, Chat: a.it.Chat, Text: a.part.Text,
		Target: a.part.Act.Target, Sent: a.part.Act.Sent, Files: a.part.Act.Files, Emoji: a.part.Act.Emoji,
	}
	if !a.noThread() {
		c.Thread = a.it.Thread
	}
	return c
}

func makeChange(ctx context.Context, ch channel.Channel, v Verb, c channel.Change) error {
	switch v {
	case VerbEdit:
		if e, can := ch.(channel.Editor); can {
			if err := inTime(ch, c.Sent, e.EditWithin()); err != nil {
				return err
			}
			return e.Edit(ctx, c)
		}
	case VerbReact:
		if r, can := ch.(channel.Reactor); can {
			return r.React(ctx, c)
		}
	case VerbUnsend:
		if u, can := ch.(channel.Unsender); can {
			if err := inTime(ch, c.Sent, u.UnsendWithin()); err != nil {
				return err
			}
			return u.Unsend(ctx, c)
		}
	case VerbEndPoll:
		if e, can := ch.(channel.PollEnder); can {
			return e.EndPoll(ctx, c)
		}
	}
	return &channel.Error{Class: channel.Permanent, Code: codeNotSupported, Message: fmt.Sprintf("the channel cannot do this: %s", v)}
}

// inTime returns the error of a change that has waited past the platform's time window.
func inTime(ch channel.Channel, sent time.Time, within time.Duration) error {
	if within == channel.Forever || sent.IsZero() || time.Since(sent) <= within {
		return nil
	}
	return &channel.Error{Class: channel.Permanent, Code: "too_late",
		Message: fmt.Sprintf("%s allows that for %v after sending, which passed while it waited", ch.Name(), within), Hint: "send a new message instead"}
}

// SentPart is a message that a group has sent, or wanted to send.
type SentPart struct {
	ID      string // the platform's; empty before it is sent
	Key     string // of its delivery
	Part    int    // its position there
	Folder  string
	Thread  string
	Request string // empty for the host's own words
	Time    time.Time
	Files   []File
	Asks    bool // it is a question
	Host    bool // the host speaks with it, or asks people for an approval
	State   State
	Message string // why it was not sent
}

// OnItsWay reports whether the message will be sent before what is accepted now.
func (s *SentPart) OnItsWay() bool { return s.State.open() }

// Arrived reports whether the chat has the message.
func (s *SentPart) Arrived() bool { return s.State.sent() }

// SentParts returns the messages of a delivery that Put has not recorded yet.
func (d *Delivery) SentParts() (all []SentPart) {
	state := Queued
	if d.Approval != nil {
		state = Waiting
	}
	for i := range d.Parts {
		if p := &d.Parts[i]; p.Act == nil {
			all = append(all, SentPart{Key: d.Key, Part: i, Folder: d.Folder, Thread: d.Thread, Request: d.Request, Files: p.Files, Asks: p.Question != nil, State: state})
		}
	}
	return all
}

// Sent looks up messages of a chat by name: the message with this platform id, or the
// messages of the request of the asker's group with this id, in order. It returns those that
// exist for the asker, and none if the outbox has deleted the records.
func (r *Reader) Sent(ctx context.Context, chat groups.Address, from groups.Asker, name string) ([]SentPart, error) {
	var all []SentPart
	rows, err := r.db.QueryContext(ctx, `SELECT p.receipt, d.key, p.position, d.folder, d.thread, d.bound, d.request, p.receipt_time, p.file, p.blob, p.act, p.state, p.message
		FROM part p JOIN delivery d ON d.id = p.delivery
		WHERE p.receipt = ?1 AND p.receipt <> '' AND d.channel = ?2 AND d.chat = ?3
		UNION ALL SELECT p.receipt, d.key, p.position, d.folder, d.thread, d.bound, d.request, p.receipt_time, p.file, p.blob, p.act, p.state, p.message
		FROM delivery d JOIN part p ON p.delivery = d.id
		WHERE d.request = ?1 AND d.request <> '' AND d.folder = ?4 AND d.channel = ?2 AND d.chat = ?3`,
		name, chat.Channel, string(chat.JID), from.Folder())
	err = each(rows, err, func() error {
		var s SentPart
		var at int64
		var bound, files, blobs, act string
		if err := rows.Scan(&s.ID, &s.Key, &s.Part, &s.Folder, &s.Thread, &bound, &s.Request, &at, &files, &blobs, &act, &s.State, &s.Message); err != nil {
			return err
		}
		var p Part
		if err := p.setAct(act); err != nil {
			return err
		}
		if p.Act != nil || !from.Sees(groups.Object{Chat: chat, Thread: s.Thread, Folder: s.Folder, Asked: bound}) {
			return nil
		}
		var err error
		s.Files, err = decodeFiles(files, blobs)
		s.Time, s.Asks, s.Host = fromNano(at), p.Question != nil, p.byHost()
		all = append(all, s)
		return err
	})
	return all, ofDatabase("look for a message", err)
}

package records

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/state"
)

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
func (s *SentPart) OnItsWay() bool { return s.State.Open() }

// Arrived reports whether the chat has the message.
func (s *SentPart) Arrived() bool { return s.State.Sent() }

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
	err = state.Each(rows, err, func() error {
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
		s.Time, s.Asks, s.Host = fromNano(at), p.Question != nil, p.Host
		all = append(all, s)
		return err
	})
	return all, ofDatabase("look for a message", err)
}

// Said is a message that the group's assistant, or the host on its behalf, has sent.
type Said struct {
	ID    string // the platform's
	Text  string // the Markdown that it was written in
	Time  time.Time
	Files []File
}

// Said returns the messages that a group has sent to a thread before a time and not
// deleted, with their latest text, oldest first: at most the newest limit messages.
// Messages whose records have expired are missing, and the host's own.
func (r *Reader) Said(ctx context.Context, chat groups.Address, folder, thread string, before time.Time, limit int) ([]Said, error) {
	rows, err := r.db.QueryContext(ctx, selectSaid+`AND d.thread = ? AND (p.receipt <> '' AND p.receipt_time < ? OR p.act LIKE '{"act"%')
		ORDER BY d.id DESC, p.position DESC LIMIT ?`, chat.Channel, string(chat.JID), folder, thread, nano(before), 2*limit)
	return said(rows, err, limit)
}

// Words returns the latest text of the message with that id of the platform, as the group
// wrote it. It is empty if the group has not sent or has deleted the message, or its record has expired.
func (r *Reader) Words(ctx context.Context, chat groups.Address, folder, id string) (string, error) {
	rows, err := r.db.QueryContext(ctx, selectSaid+`AND d.id >= (SELECT min(delivery) FROM part WHERE receipt = ? AND receipt <> '') AND (p.receipt = ? OR p.act LIKE '{"act"%')
		ORDER BY d.id DESC, p.position DESC`, chat.Channel, string(chat.JID), folder, id, id)
	all, err := said(rows, err, 1)
	if err != nil || id == "" || len(all) == 0 {
		return "", err
	}
	return all[0].Text, nil
}

const selectSaid = `SELECT p.receipt, CASE WHEN p.written <> '' THEN p.written ELSE p.text END, p.receipt_time, p.file, p.blob, p.act, p.state
	FROM delivery d JOIN part p ON p.delivery = d.id WHERE d.channel = ? AND d.chat = ? AND d.folder = ? `

// said reads the rows of selectSaid: messages and changes of these, the newest first.
func said(rows *sql.Rows, err error, limit int) (all []Said, _ error) {
	later := map[string]*Part{} // the newest change of each message
	err = state.Each(rows, err, func() error {
		var s Said
		var at int64
		var files, blobs, act string
		var state State
		if err := rows.Scan(&s.ID, &s.Text, &at, &files, &blobs, &act, &state); err != nil {
			return err
		}
		p := Part{Text: s.Text}
		if err := p.setAct(act); err != nil {
			return err
		}
		if p.Host {
			return nil
		}
		if p.Act != nil {
			if state.Sent() && p.Act.changes() && later[p.Act.Target] == nil {
				later[p.Act.Target] = &p
			}
			return nil
		}
		var err error
		s.Time = fromNano(at)
		s.Files, err = decodeFiles(files, blobs)
		change := later[s.ID]
		switch {
		case len(all) == limit || change != nil && change.Act.Verb == VerbUnsend:
			return err
		case change != nil:
			s.Text = change.Text
		}
		all = append(all, s)
		return err
	})
	slices.Reverse(all)
	return all, ofDatabase("look for earlier messages", err)
}

// changes reports whether an act gives a message another text, or deletes it.
func (a *Act) changes() bool { return a.Verb == VerbEdit || a.Verb == VerbUnsend }

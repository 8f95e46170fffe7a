package outbox

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
)

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
	err = each(rows, err, func() error {
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
		if p.byHost() {
			return nil
		}
		if p.Act != nil {
			if state.sent() && p.Act.changes() && later[p.Act.Target] == nil {
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

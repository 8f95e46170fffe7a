package outbox

import (
	"context"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
)

// Said is a message that a group's assistant, or the host for it, has sent.
type Said struct {
	ID    string // the platform's
	Text  string
	Time  time.Time
	Files []File
}

// Said returns what a group has sent to a thread of a chat before a time, oldest first,
// the newest limit of them. What the outbox has forgotten is not among them.
func (r *Reader) Said(ctx context.Context, chat groups.Address, folder, thread string, before time.Time, limit int) (all []Said, err error) {
	rows, err := r.db.QueryContext(ctx, `SELECT p.receipt, p.text, p.receipt_time, p.file, p.blob
		FROM delivery d JOIN part p ON p.delivery = d.id
		WHERE d.channel = ? AND d.chat = ? AND d.folder = ? AND d.thread = ? AND p.receipt <> '' AND p.receipt_time < ?
			AND (p.act = '' OR p.act LIKE '{"question"%')
		ORDER BY d.id DESC, p.position DESC LIMIT ?`, chat.Channel, string(chat.JID), folder, thread, nano(before), limit)
	err = each(rows, err, func() error {
		var s Said
		var at int64
		var files, blobs string
		if err := rows.Scan(&s.ID, &s.Text, &at, &files, &blobs); err != nil {
			return err
		}
		s.Time = fromNano(at)
		var err error
		s.Files, err = decodeFiles(files, blobs)
		all = append(all, s)
		return err
	})
	slices.Reverse(all)
	return all, ofDatabase("look for earlier messages", err)
}

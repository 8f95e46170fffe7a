package web

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/channel"
	stores "github.com/longshore-bridge/longshore/host/store"
)

// changeSchema is a part of version 7: messages can be edited, removed and reacted to.
// Each message that changed has one row in changes, with a number that grows, so that
// a page which was away gets what changed meanwhile.
const changeSchema = `
ALTER TABLE messages ADD COLUMN edited INTEGER NOT NULL DEFAULT 0;
ALTER TABLE messages ADD COLUMN removed INTEGER NOT NULL DEFAULT 0;
CREATE TABLE reactions (
	message INTEGER NOT NULL REFERENCES messages (seq) ON DELETE CASCADE,
	who     TEXT NOT NULL,
	name    TEXT NOT NULL,
	emoji   TEXT NOT NULL,
	PRIMARY KEY (message, who)
) WITHOUT ROWID;
CREATE TABLE changes (
	n       INTEGER PRIMARY KEY AUTOINCREMENT,
	chat    TEXT NOT NULL,
	message INTEGER NOT NULL UNIQUE REFERENCES messages (seq) ON DELETE CASCADE
);
CREATE INDEX changes_chat ON changes (chat, n);
CREATE TABLE removed_files (id TEXT PRIMARY KEY) WITHOUT ROWID;`

// Reaction is an emoji that somebody has put on a message.
type Reaction struct {
	Emoji string `json:"emoji"`
	Name  string `json:"name"`
	Who   string `json:"who"` // the browser's mark; empty: the assistant
}

// change is a message after its latest change.
type change struct {
	N       int64    `json:"n"` // grows from change to change of a chat
	Message *Message `json:"message"`
}

var (
	_ channel.Editor   = (*Web)(nil)
	_ channel.Reactor  = (*Web)(nil)
	_ channel.Unsender = (*Web)(nil)

	_ channel.PollEnder = (*Web)(nil)
)

// EditWithin implements channel.Editor.
func (w *Web) EditWithin() time.Duration { return channel.Forever }

// UnsendWithin implements channel.Unsender.
func (w *Web) UnsendWithin() time.Duration { return channel.Forever }

// Edit implements channel.Editor: pages show the new text and mark it as edited.
func (w *Web) Edit(ctx context.Context, c channel.Change) error {
	if err := channel.Check(w.Name(), channel.Message{Text: c.Text}, w.opts.Limits); err != nil {
		return err
	}
	text := cleanText(c.Text)
	return w.change(ctx, c, edit(text, show(text), true))
}

// edit replaces the text of a message of the assistant, or of a member, unless it is the
// same.
func edit(text string, s *shown, assistant bool) func(*stores.Tx, int64) (bool, error) {
	return func(t *stores.Tx, seq int64) (bool, error) {
		n, err := t.Changed(`UPDATE messages SET text = ?1, tree = ?2, short = ?3, edited = ?4 WHERE seq = ?5 AND assistant = ?6 AND text <> ?1`,
			text, string(s.tree), s.short, now().UnixMilli(), seq, assistant)
		return n > 0, err
	}
}

// React implements channel.Reactor.
func (w *Web) React(ctx context.Context, c channel.Change) error {
	return w.change(ctx, c, func(t *stores.Tx, seq int64) (bool, error) {
		return react(t, seq, "", w.now().AssistantName, c.Emoji)
	})
}

// Unsend implements channel.Unsender: pages show that a message was deleted. Its text and
// the bytes of its file are deleted.
func (w *Web) Unsend(ctx context.Context, c channel.Change) error {
	return w.change(ctx, c, remove)
}

// react sets or removes one person's reaction to a message.
func react(t *stores.Tx, seq int64, who, name, emoji string) (bool, error) {
	if emoji == "" {
		n, err := t.Changed(`DELETE FROM reactions WHERE message = ? AND who = ?`, seq, who)
		return n > 0, err
	}
	if emoji = channel.CleanName(emoji); emoji == "" {
		return false, nil // it would be an empty mark
	}
	n, err := t.Changed(`INSERT INTO reactions (message, who, name, emoji) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT (message, who) DO UPDATE SET name = ?3, emoji = ?4 WHERE emoji <> ?4`, seq, who, name, emoji)
	return n > 0, err
}

// remove deletes the content of a message.
func remove(t *stores.Tx, seq int64) (bool, error) {
	rows, err := t.Query(`SELECT id FROM files WHERE message = ?`, seq)
	files, err := all(rows, err, one[string])
	if err != nil {
		return false, err
	}
	if err := blob.Delete(t, files...); err != nil {
		return false, err
	}
	for _, step := range []string{
		`INSERT INTO removed_files SELECT id FROM files WHERE message = ?`,
		`DELETE FROM files WHERE message = ?`,
		`DELETE FROM reactions WHERE message = ?`,
		`DELETE FROM polls WHERE message = ?`,
		`DELETE FROM votes WHERE message = ?`,
		`UPDATE messages SET quote_text = NULL, quote_from = NULL WHERE seq = ?`,
		`UPDATE messages SET text = '', tree = '', short = '', removed = 1 WHERE seq = ?`,
	} {
		if _, err := t.Exec(step, seq); err != nil {
			return false, err
		}
	}
	return true, nil
}

// change makes a change durable and shows it. do reports whether anything changed. Deleted
// messages cannot change.
func (w *Web) change(ctx context.Context, c channel.Change, do func(t *stores.Tx, seq int64) (bool, error)) error {
	r, err := w.roomOf(c.Chat)
	if err != nil {
		return err
	}
	if !w.opened.Load() {
		return &channel.Error{Code: "not_connected", Message: "the chat page does not run yet"}
	}
	if err := r.enter(ctx); err != nil {
		return err
	}
	defer r.leave()
	before, err := w.store.byID(ctx, r.name, c.Target)
	if err != nil {
		return err
	}
	if before == nil {
		return &channel.Error{Class: channel.Permanent, Code: "unknown_message", Message: "the chat does not have that message any more", Hint: "send a new one"}
	}
	if before.Removed {
		return nil // there is nothing left to change
	}
	_, err = w.apply(ctx, r, before, do)
	return err
}

// apply makes a change of a message durable and shows it; nil if nothing changed. The
// caller has entered the chat.
func (w *Web) apply(ctx context.Context, r *room, before *Message, do func(t *stores.Tx, seq int64) (bool, error)) (*change, error) {
	after, err := w.store.change(context.WithoutCancel(ctx), r.name, before, do)
	if err != nil || after == nil {
		return nil, err
	}
	if before.File != nil && after.Message.File == nil {
		if err := w.blobs.remove(r.name, []forgotten{{file: before.File.ID, size: before.File.Size}}); err != nil {
			w.log.Warn("a removed file is deleted at the next start", "error", err)
		}
	}
	w.hub.publish(r.name, after)
	return after, nil
}

// change records a change of one message; nil if nothing has changed.
func (s *store) change(ctx context.Context, chat string, m *Message, do func(t *stores.Tx, seq int64) (bool, error)) (after *change, err error) {
	err = s.commit.Do(ctx, func(t *stores.Tx) error {
		after = nil
		changed, err := do(t, m.seq)
		if err != nil || !changed {
			return err
		}
		if _, err := t.Exec(`DELETE FROM changes WHERE message = ?`, m.seq); err != nil {
			return err
		}
		res, err := t.Exec(`INSERT INTO changes (chat, message) VALUES (?, ?)`, chat, m.seq)
		if err != nil {
			return err
		}
		after = &change{}
		if after.N, err = res.LastInsertId(); err != nil {
			return err
		}
		rows, err := t.Query(messageByID, chat, m.ID)
		now, err := all(rows, err, scan)
		if err == nil {
			after.Message = now[0]
		}
		return err
	}, nil)
	if err != nil {
		return nil, writing(err)
	}
	return after, nil
}

// changesAfter returns the latest changes of a chat's messages after a given one, oldest
// first.
func (s *store) changesAfter(ctx context.Context, chat string, n int64, limit int) (after []change, err error) {
	found, err := list(ctx, s, func(rows *sql.Rows) (c change, err error) {
		c.Message = &Message{}
		return c, rows.Scan(&c.N, &c.Message.ID)
	}, `SELECT c.n, m.id FROM changes c JOIN messages m ON m.seq = c.message WHERE c.chat = ? AND c.n > ? ORDER BY c.n LIMIT ?`, chat, n, limit)
	// Not while the rows are open: many pages at once would wait for each other's connections.
	for i := range found {
		m, err := s.byID(ctx, chat, found[i].Message.ID)
		if err != nil {
			return nil, err
		}
		if m != nil { // else it was deleted meanwhile
			after = append(after, change{found[i].N, m})
		}
	}
	return after, err
}

// lastChange returns the number of a chat's last change; 0 if there is none.
func (s *store) lastChange(ctx context.Context, chat string) (n int64, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT COALESCE(MAX(n), 0) FROM changes WHERE chat = ?`, chat).Scan(&n)
	if err != nil {
		return 0, reading(err)
	}
	return n, nil
}

// reactionsOf decodes the column of reactions.
func reactionsOf(text string) (all []Reaction) {
	_ = json.Unmarshal([]byte(text), &all) // the database has made it
	return all
}

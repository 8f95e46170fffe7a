package web

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/state"
)

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
func edit(text string, s shown, assistant bool) func(*Message) bool {
	return func(m *Message) bool {
		if m.Assistant != assistant || m.Text == text {
			return false
		}
		m.Text, m.shown, m.Edited, m.EditedAt = text, s, true, now()
		return true
	}
}

// React implements channel.Reactor.
func (w *Web) React(ctx context.Context, c channel.Change) error {
	return w.change(ctx, c, react("", w.now().AssistantName, c.Emoji))
}

// Unsend implements channel.Unsender: pages show that a message was deleted. Its text and
// the bytes of its file are deleted.
func (w *Web) Unsend(ctx context.Context, c channel.Change) error {
	return w.change(ctx, c, remove)
}

// react sets or removes one person's reaction to a message.
func react(who, name, emoji string) func(*Message) bool {
	clean := channel.CleanName(emoji)
	return func(m *Message) bool {
		i := slices.IndexFunc(m.Reactions, func(r Reaction) bool { return r.Who == who })
		switch {
		case emoji == "" && i >= 0:
			m.Reactions = slices.Delete(m.Reactions, i, i+1)
		case clean == "": // it would be an empty mark
			return false
		case i < 0:
			m.Reactions = append(m.Reactions, Reaction{clean, name, who})
		case m.Reactions[i].Emoji == clean:
			return false
		default:
			m.Reactions[i] = Reaction{clean, name, who}
		}
		return true
	}
}

// remove deletes the content of a message.
func remove(m *Message) bool {
	m.Removed, m.Text, m.shown, m.Quote, m.File, m.Reactions, m.Poll = true, "", shown{}, nil, nil, nil, nil
	return true
}

// change makes a change durable and shows it. do reports whether anything changed. Deleted
// messages cannot change.
func (w *Web) change(ctx context.Context, c channel.Change, do func(*Message) bool) error {
	r, err := w.roomOf(c.Chat)
	if err != nil {
		return err
	}
	if !w.opened.Load() {
		return errNotOpen()
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
	_, err = w.apply(ctx, r, before, nil, do)
	return err
}

// apply makes a change of a message durable, together with the act that asks for it, and
// shows it; nil if nothing changed. The caller has entered the chat.
func (w *Web) apply(ctx context.Context, r *room, before *Message, by *act, do func(*Message) bool) (*change, error) {
	after, err := w.store.change(context.WithoutCancel(ctx), r.name, before.ID, by, do)
	if err != nil || after == nil {
		return nil, err
	}
	if f := before.File; f != nil && after.Message.File == nil {
		if err := w.blobs.remove([]forgotten{{chat: r.name, file: f.ID, size: f.Size}}); err != nil {
			w.log.Warn("a removed file is deleted at the next start", "error", err)
		}
	}
	w.hub.publish(r.name, after)
	return after, nil
}

// change records a change of one message, and the act that asks for it, which may be nil.
// It returns nil if nothing has changed, or if the message is no longer there.
func (s *store) change(ctx context.Context, chat, id string, by *act, do func(*Message) bool) (after *change, err error) {
	err = s.db.Do(ctx, func(t *state.Tx) error {
		after = nil
		m, err := s.read(t, chat, id)
		if err != nil || m == nil {
			return err
		}
		had := m.File
		if !do(m) {
			return nil
		}
		if had != nil && m.File == nil {
			if err := blob.Delete(t, had.ID); err != nil {
				return err
			}
		}
		if err := s.update(t, m); err != nil {
			return err
		}
		rows, err := t.Query(`INSERT INTO page_change (channel, chat, message) VALUES (?, ?, ?) RETURNING n`, s.name, chat, m.seq)
		n, err := state.All(rows, err, state.One[int64])
		if err != nil {
			return err
		}
		after = &change{n[0], m}
		if by != nil {
			return s.keep(t, chat, by)
		}
		return nil
	}, nil)
	if err != nil {
		return nil, writing(err)
	}
	return after, nil
}

// update writes what a change may have changed in a message. A removed message keeps the
// name of its file, for the next start to delete what is left of it.
func (s *store) update(t *state.Tx, m *Message) error {
	edited := int64(0)
	if m.Edited {
		edited = m.EditedAt.UnixMilli()
	}
	if _, err := t.Exec(`UPDATE page_message SET quote = ?1, file = ?2, size = CASE WHEN ?2 = '' THEN 0 ELSE size END, edited = ?3, removed = ?4,
		reactions = ?5, text = ?6, tree = ?7, short = ?8, poll = ?9 WHERE seq = ?10`,
		column(m.Quote), column(m.File), edited, bit(m.Removed), column(m.Reactions), m.Text, string(m.shown.tree), m.shown.short, column(m.Poll), m.seq); err != nil {
		return err
	}
	_, err := t.Exec(`DELETE FROM page_change WHERE message = ?`, m.seq)
	return err
}

// changesAfter returns the latest changes of a chat's messages after a given one, oldest
// first.
func (s *store) changesAfter(ctx context.Context, chat string, n int64, limit int) (after []change, err error) {
	found, err := list(ctx, s, func(rows *sql.Rows) (c change, err error) {
		c.Message = &Message{}
		return c, rows.Scan(&c.N, &c.Message.ID)
	}, `SELECT c.n, m.id FROM page_change c JOIN page_message m ON m.seq = c.message WHERE c.channel = ? AND c.chat = ? AND c.n > ? ORDER BY c.n LIMIT ?`,
		s.name, chat, n, limit)
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
func (s *store) lastChange(ctx context.Context, chat string) (int64, error) {
	return s.number(ctx, `SELECT COALESCE(MAX(n), 0) FROM page_change WHERE channel = ? AND chat = ?`, s.name, chat)
}

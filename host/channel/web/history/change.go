package history

import (
	"context"
	"database/sql"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// Reaction is an emoji that somebody has put on a message.
type Reaction struct {
	Emoji string `json:"emoji"`
	Name  string `json:"name"`
	Who   string `json:"who"` // the browser's mark; empty: the assistant
}

// Change is a message after its latest change.
type Change struct {
	N       int64    `json:"n"` // grows from change to change of a chat
	Message *Message `json:"message"`
}

// Change records a change of one message, and the act that asks for it, which may be nil.
// It returns nil if nothing has changed, or if the message is no longer there.
func (s *Store) Change(ctx context.Context, chat, id string, by *Act, do func(*Message) bool) (after *Change, err error) {
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
		rows, err := t.Query(`INSERT INTO page_change (channel, chat, message) VALUES (?, ?, ?) RETURNING n`, s.name, chat, m.Seq)
		n, err := state.All(rows, err, state.One[int64])
		if err != nil {
			return err
		}
		after = &Change{n[0], m}
		if by != nil {
			return s.keep(t, chat, by)
		}
		return nil
	}, nil)
	if err != nil {
		return nil, writing(err)
	}
	if by != nil {
		wake.Up(s.news)
	}
	return after, nil
}

// update writes what a change may have changed in a message. A removed message keeps the
// name of its file, for the next start to delete what is left of it.
func (s *Store) update(t *state.Tx, m *Message) error {
	edited := int64(0)
	if m.Edited {
		edited = m.EditedAt.UnixMilli()
	}
	if err := t.Exec(`UPDATE page_message SET quote = ?1, file = ?2, size = CASE WHEN ?2 = '' THEN 0 ELSE size END, edited = ?3, removed = ?4,
		reactions = ?5, text = ?6, tree = ?7, short = ?8, poll = ?9 WHERE seq = ?10`,
		column(m.Quote), column(m.File), edited, bit(m.Removed), column(m.Reactions), m.Text, string(m.Shown.Tree), m.Shown.Short, column(m.Poll), m.Seq); err != nil {
		return err
	}
	return t.Exec(`DELETE FROM page_change WHERE message = ?`, m.Seq)
}

// ChangesAfter returns the latest changes of a chat's messages after a given one, oldest
// first.
func (s *Store) ChangesAfter(ctx context.Context, chat string, n int64, limit int) (after []Change, err error) {
	found, err := list(ctx, s, func(rows *sql.Rows) (c Change, err error) {
		c.Message = &Message{}
		return c, rows.Scan(&c.N, &c.Message.ID)
	}, `SELECT c.n, m.id FROM page_change c JOIN page_message m ON m.Seq = c.message WHERE c.channel = ? AND c.chat = ? AND c.n > ? ORDER BY c.n LIMIT ?`,
		s.name, chat, n, limit)
	// Not while the rows are open: many pages at once would wait for each other's connections.
	for i := range found {
		m, err := s.ByID(ctx, chat, found[i].Message.ID)
		if err != nil {
			return nil, err
		}
		if m != nil { // else it was deleted meanwhile
			after = append(after, Change{found[i].N, m})
		}
	}
	return after, err
}

// LastChange returns the number of a chat's last change; 0 if there is none.
func (s *Store) LastChange(ctx context.Context, chat string) (int64, error) {
	return s.number(ctx, `SELECT COALESCE(MAX(n), 0) FROM page_change WHERE channel = ? AND chat = ?`, s.name, chat)
}

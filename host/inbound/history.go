package inbound

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

const (
	maxHistory = 1000 // messages that are remembered, and as many changes of them
	pastText   = 2000 // characters of one message
	pastQuote  = 800  // bytes of what it answers
	pastAge    = 30 * 24 * time.Hour
)

// Past is a member's message that the assistant may read again, or a change of one.
type Past struct {
	ID     string    `json:"id"`
	Thread string    `json:"thread,omitempty"`
	From   string    `json:"from"`
	Sender string    `json:"sender,omitempty"`
	Text   string    `json:"text"`
	Time   time.Time `json:"time"`
	Chat   string    `json:"chat,omitempty"`
	Files  []File    `json:"files,omitempty"`

	Forwarded bool       `json:"forwarded,omitempty"`
	Quote     *ipc.Quote `json:"quote,omitempty"`
	Author    string     `json:"author,omitempty"` // of what is forwarded
	Change    string     `json:"change,omitempty"` // edit: Text stands in place of the message's, if Sender wrote that; deletion: it is gone
}

// Remembering keeps messages for the assistant to read again; the last state of a message
// counts.
func (s *Store) Remembering(messages []*Message) Change {
	return func(t *state.Tx) error {
		for _, m := range messages {
			if m.ID == "" || m.Kind != KindCall && m.Kind != KindContext {
				continue
			}
			one := Past{ID: m.ID, Thread: m.Thread, From: m.From, Sender: m.Sender, Text: media.Cut(m.Text, pastText), Time: m.Time, Chat: m.Chat, Files: m.Files, Forwarded: m.Forwarded, Author: m.Author}
			one.Quote = m.QuoteFor(pastQuote)
			if err := s.keepPast(t, one, ""); err != nil {
				return err
			}
		}
		return nil
	}
}

// RememberingChange keeps a member's edit or deletion of a message; it ignores other kinds.
// sender is the member's SenderID.
func (s *Store) RememberingChange(in channel.Inbound, sender string) Change {
	return func(t *state.Tx) error {
		one := Past{ID: in.Target, Sender: sender, Text: media.Cut(in.Text, pastText), Time: time.Now(), Change: string(in.Kind)}
		switch in.Kind {
		case channel.KindEdit:
			return s.keepPast(t, one, sender)
		case channel.KindDeletion:
			if err := t.Exec(`DELETE FROM inbound_past WHERE folder = ? AND id = ?`, s.Folder, channel.Key(in.Target)); err != nil {
				return err
			}
			return s.keepPast(t, one, "")
		}
		return nil
	}
}

func (s *Store) keepPast(t *state.Tx, one Past, sender string) error {
	body, err := json.Marshal(one)
	if err == nil {
		err = t.Exec(`INSERT INTO inbound_past (folder, id, change, sender, seq, body)
			VALUES (?, ?, ?, ?, (SELECT COALESCE(MAX(seq), 0) + 1 FROM inbound_past WHERE folder = ?), ?)
			ON CONFLICT (folder, id, change, sender) DO UPDATE SET seq = excluded.seq, body = excluded.body`, s.Folder, channel.Key(one.ID), one.Change, sender, s.Folder, string(body))
	}
	if err == nil {
		err = t.Exec(`DELETE FROM inbound_past WHERE folder = ? AND seq <= (SELECT MAX(seq) FROM inbound_past WHERE folder = ?) - ?`, s.Folder, s.Folder, 2*maxHistory)
	}
	return err
}

// Past reads the messages that are remembered, oldest first.
func (s *Store) Past() ([]Past, error) {
	var all, messages []Past
	deleted, edits := map[string]bool{}, map[[2]string]string{} // which may stand before their message: a turn is given that later
	err := Each(s.DB, func(scan func(...any) error) error {
		var body string
		var one Past
		if err := scan(&body); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(body), &one); err != nil {
			return err
		}
		switch channel.Kind(one.Change) {
		case channel.KindDeletion:
			deleted[one.ID] = true
		case channel.KindEdit:
			edits[[2]string{one.ID, one.Sender}] = one.Text
		default:
			messages = append(messages, one)
		}
		return nil
	}, `SELECT body FROM inbound_past WHERE folder = ? ORDER BY seq`, s.Folder)
	for _, one := range slices.Backward(messages) {
		if deleted[one.ID] || time.Since(one.Time) > pastAge || len(all) >= maxHistory {
			continue
		}
		if text, ok := edits[[2]string{one.ID, one.Sender}]; ok {
			one.Text = text
		}
		all = append(all, one)
	}
	slices.Reverse(all) // in the order in which they came, which those of one second keep
	slices.SortStableFunc(all, func(a, b Past) int { return a.Time.Compare(b.Time) })
	return all, err
}

package turns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

const (
	maxHistory = 1000 // messages that are remembered, and as many changes of them
	pastText   = 2000 // characters of one message
	pastQuote  = 800  // bytes of what it answers
	pastAge    = 30 * 24 * time.Hour
	bringTime  = 20 * time.Second // for one file that is fetched again
	bringing   = 2                // of them at once, over all groups: whoever asks holds up its group's queue
)

// Past is a member's message that the assistant may read again.
type Past struct {
	ID     string    `json:"id"`
	Thread string    `json:"thread,omitempty"`
	From   string    `json:"from"`
	Sender string    `json:"sender,omitempty"`
	Text   string    `json:"text"`
	Time   time.Time `json:"time"`
	Chat   string    `json:"chat,omitempty"`
	Files  []file    `json:"files,omitempty"`

	Forwarded bool       `json:"forwarded,omitempty"`
	Quote     *ipc.Quote `json:"quote,omitempty"`
	Author    string     `json:"author,omitempty"` // of what is forwarded
	Change    string     `json:"change,omitempty"` // edit: Text stands in place of the message's, if Sender wrote that; deletion: it is gone
}

// remembering keeps messages for the assistant to read again; the last state of a message
// counts.
func (s *store) remembering(records []*record) change {
	return func(t *state.Tx) error {
		for _, r := range records {
			if r.ID == "" || r.Kind != callKind && r.Kind != contextKind {
				continue
			}
			one := Past{ID: r.ID, Thread: r.Thread, From: r.From, Sender: r.Sender, Text: media.Cut(r.Text, pastText), Time: r.Time, Chat: r.Chat, Files: r.Files, Forwarded: r.Forwarded, Author: r.Author}
			one.Quote = quoteOf(r, pastQuote)
			if err := s.keepPast(t, one, ""); err != nil {
				return err
			}
		}
		return nil
	}
}

// rememberingChange keeps what a member did to a message. sender is the member's id in the
// list.
func (s *store) rememberingChange(in channel.Inbound, sender string) change {
	return func(t *state.Tx) error {
		one := Past{ID: in.Target, Sender: sender, Text: media.Cut(in.Text, pastText), Time: time.Now(), Change: string(in.Kind)}
		switch in.Kind {
		case channel.KindEdit:
			return s.keepPast(t, one, sender)
		case channel.KindDeletion:
			if _, err := t.Exec(`DELETE FROM assistant_past WHERE folder = ? AND id = ?`, s.folder, in.Target); err != nil {
				return err
			}
			return s.keepPast(t, one, "")
		}
		return nil
	}
}

func (s *store) keepPast(t *state.Tx, one Past, sender string) error {
	body, err := json.Marshal(one)
	if err == nil {
		_, err = t.Exec(`INSERT INTO assistant_past (folder, id, change, sender, seq, body)
			VALUES (?, ?, ?, ?, (SELECT COALESCE(MAX(seq), 0) + 1 FROM assistant_past WHERE folder = ?), ?)
			ON CONFLICT (folder, id, change, sender) DO UPDATE SET seq = excluded.seq, body = excluded.body`, s.folder, one.ID, one.Change, sender, s.folder, string(body))
	}
	if err == nil {
		_, err = t.Exec(`DELETE FROM assistant_past WHERE folder = ? AND seq <= (SELECT MAX(seq) FROM assistant_past WHERE folder = ?) - ?`, s.folder, s.folder, 2*maxHistory)
	}
	return err
}

// remember keeps messages for the assistant to read again.
func (m *Manager) remember(c *chat, records []*record) {
	if len(records) == 0 {
		return
	}
	if err := c.store.do("remember messages", c.store.remembering(records)); err != nil {
		m.o.Log.Warn("messages cannot be looked at again", "group", c.group.Folder, "error", err)
	}
}

// past reads the messages that are remembered, oldest first.
func (s *store) past() ([]Past, error) {
	var all, messages []Past
	deleted, edits := map[string]bool{}, map[[2]string]string{} // which may stand before their message: a turn is given that later
	err := each(s.db, func(scan func(...any) error) error {
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
	}, `SELECT body FROM assistant_past WHERE folder = ? ORDER BY seq`, s.folder)
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

// Past returns the messages of a thread that the group's assistant may read again, oldest
// first: those that a turn was given or, if the group has history: all, every message that
// was heard. Errors pass.
func (m *Manager) Past(folder, thread string) ([]Past, error) {
	c, err := m.enter(folder)
	if err != nil {
		return nil, err
	}
	defer m.exit(c)
	all, err := c.store.past()
	return slices.DeleteFunc(all, func(p Past) bool { return p.Thread != thread || elsewhere(p.Chat, c.group) }), err
}

// Knows reports whether a thread's assistant was given a member's message with this id of
// the platform, or may read it. Errors pass.
func (m *Manager) Knows(folder, thread, message string) (bool, error) {
	all, err := m.Past(folder, thread)
	return slices.ContainsFunc(all, func(p Past) bool { return p.ID == message }), err
}

// Bring makes sure that a file of an earlier message is in the inbox, and returns its path
// in the container. number counts from 1. Errors are refusals, or pass.
func (m *Manager) Bring(ctx context.Context, folder, thread, id string, number int) (string, error) {
	all, err := m.Past(folder, thread)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(all, func(p Past) bool { return p.ID == id })
	if i < 0 {
		return "", &refusal.Error{Code: "unknown_message", Message: "you have been given no message with that id here", Hint: "list_messages has the ids"}
	}
	if number < 1 || number > len(all[i].Files) {
		return "", &refusal.Error{Code: "no_such_file", Message: fmt.Sprintf("the message has %s, and you asked for number %d", media.Count(len(all[i].Files), "file"), number), Hint: "list_messages numbers the files from 1"}
	}
	c, err := m.enter(folder)
	if err != nil {
		return "", err
	}
	defer m.exit(c)
	f := all[i].Files[number-1]
	name := c.store.fetchedName(f.Ref)
	if name == "" && f.Path != "" {
		name = filepath.Base(f.Path)
	}
	if name != "" && liesInInbox(m.o.Layout.Workspace(folder), name) {
		return inboxFile(name), nil
	}
	return m.bringAgain(ctx, c, f)
}

// bringAgain fetches a file that is no longer in the inbox.
func (m *Manager) bringAgain(ctx context.Context, c *chat, f file) (string, error) {
	if f.Ref == "" {
		return "", &refusal.Error{Code: "file_gone", Message: "the file is no longer kept", Hint: "ask the member to send it again"}
	}
	select {
	case m.bringing <- struct{}{}:
		defer func() { <-m.bringing }()
	default:
		return "", &refusal.Error{Code: "fetch_busy", Message: "other files are being fetched", Hint: "call again in a minute"}
	}
	ctx, cancel := context.WithTimeout(ctx, bringTime)
	defer cancel()
	from, err := m.o.Platforms.Fetch(ctx, c.group.Channel, channel.FileRef{Chat: c.group.Chat, Ref: f.Ref})
	stored := ""
	if err == nil {
		defer from.Close()
		stored, _, err = m.store(c, f.Name, from)
	}
	if err != nil {
		m.o.Log.Info("member's earlier file not fetched", "group", c.group.Folder, "file", f.Name, "error", err)
		return "", &refusal.Error{Code: "file_gone", Message: "the file cannot be had: " + reason(errors.Join(errFetch, err)), Hint: "ask the member to send it again"}
	}
	if err := c.store.do("remember file", c.store.noteFetched(f.Ref, stored)); err != nil {
		m.o.Log.Warn("a member's file is fetched again if its message is answered", "error", err)
	}
	return inboxFile(stored), nil
}

// remembersAll reports whether a group's assistant may read messages that it was not
// given.
func remembersAll(g groups.Group) bool { return g.History == groups.HistoryAll }

// Package history keeps the chats of the page in the state: messages with their files, changes, and
// what members wrote and did until the host has it.
package history

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// Scheme begins every JID of this channel.
const Scheme = "web:"

var chatName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// ChatOf returns the name of a JID's chat, by the form alone.
func ChatOf(jid groups.JID) (string, bool) {
	s := string(jid)
	if len(s) < len(Scheme) || s[:len(Scheme)] != Scheme || !chatName.MatchString(s[len(Scheme):]) {
		return "", false
	}
	return s[len(Scheme):], true
}

// Store is the history of one channel. What is written together is durable together.
type Store struct {
	db   *state.DB
	name string        // of the channel
	news chan struct{} // holds a value after a member's message was added
}

// New returns the history of a channel. It does not look at it.
func New(db *state.DB, name string) *Store {
	return &Store{db: db, name: name, news: make(chan struct{}, 1)}
}

// errThere rolls back an insert of a message that exists or existed.
var errThere = errors.New("the message is or was there")

// Insert adds a member's post to a chat, and makes the names of its files durable. It
// returns false if one of the ids exists or existed; then nothing was added.
func (s *Store) Insert(ctx context.Context, chat string, msgs []*Message) (fresh bool, err error) {
	at := now()
	err = s.db.Do(ctx, func(t *state.Tx) error {
		for _, m := range msgs {
			m.Time = at
			if err := s.add(t, chat, m); err != nil {
				return err
			}
		}
		return t.Exec(`INSERT INTO page_waiting (seq, channel, chat, own) VALUES (?,?,?,?)`, msgs[0].Seq, s.name, chat, bit(msgs[0].Answers))
	}, nil)
	if errors.Is(err, errThere) {
		return false, nil
	}
	if err != nil {
		return false, writing(err)
	}
	for _, m := range msgs {
		m.Bytes = nil // the hub keeps the message
	}
	wake.Up(s.news)
	return true, nil
}

// Answer adds the assistant's new messages and sets their seq. Messages that exist get
// their stored time. It looks up quoted messages in the same transaction, because the
// question itself may just be going in; an unknown quote is no error. record is part of the
// transaction, and recorded runs after it.
func (s *Store) Answer(ctx context.Context, chat string, msgs []*Message, record func(*state.Tx) error, recorded func()) error {
	at, do := now(), s.db.DoBeside
	if slices.ContainsFunc(msgs, func(m *Message) bool { return m.ReplyTo != "" }) {
		do = s.db.Do
	}
	err := do(ctx, func(t *state.Tx) error {
		for _, m := range msgs {
			m.Seq, m.Time = 0, at
			if err := s.quoteIn(t, chat, m); err != nil {
				return err
			}
			err := s.add(t, chat, m)
			if errors.Is(err, errThere) {
				rows, failed := t.Query(seqQuery, s.name, chat, m.ID)
				_, m.Time, err = scanPosition(rows, failed)
			}
			if err != nil {
				return err
			}
		}
		return record(t)
	}, recorded)
	for _, m := range msgs {
		m.Bytes = nil
	}
	if err != nil {
		return writing(err)
	}
	return nil
}

// now returns the time in the precision of the history.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

func (s *Store) quoteIn(t *state.Tx, chat string, m *Message) error {
	if m.ReplyTo == "" {
		return nil
	}
	answered, err := s.read(t, chat, m.ReplyTo)
	if m.Quote = nil; answered != nil {
		m.Quote = answered.AsQuote()
	}
	return err
}

// add inserts a message. The error is errThere if the chat has or had its id.
func (s *Store) add(t *state.Tx, chat string, m *Message) error {
	var file, id string
	var size int64
	if f := m.File; f != nil {
		t.KeepFiles = t.KeepFiles || m.Bytes == nil
		file, id, size = column(f), f.ID, f.Size
	}
	rows, err := t.Query(`INSERT INTO page_message
		(channel, chat, id, key, author, sender, assistant, time, reply_to, quote, forwarded, status, file, blob, size, text, tree, short, poll)
		SELECT ?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19
		WHERE NOT EXISTS (SELECT 1 FROM page_gone WHERE channel = ?1 AND chat = ?2 AND id = ?3)
		ON CONFLICT (channel, chat, id) DO NOTHING RETURNING seq`,
		s.name, chat, m.ID, m.Key, m.Author, m.From, bit(m.Assistant), m.Time.UnixMilli(), m.ReplyTo, column(m.Quote), m.Forwarded, string(m.Status),
		file, id, size, m.Text, string(m.Shown.Tree), m.Shown.Short, column(m.Poll))
	added, err := state.All(rows, err, state.One[int64])
	if err != nil {
		return err
	}
	if len(added) == 0 {
		return errThere
	}
	m.Seq = added[0]
	return blob.Insert(t, id, m.Bytes)
}

// Raise moves the assistant's messages among ids to a later status and returns those that
// moved, so that each step is reported once.
func (s *Store) Raise(ctx context.Context, chat string, ids []string, to Status) ([]string, error) {
	before := Sent
	if to == Read {
		before = Delivered
	}
	var moved []string
	err := s.db.Do(ctx, func(t *state.Tx) error {
		moved = nil
		for _, id := range ids {
			n, err := t.Changed(`UPDATE page_message SET status = ? WHERE channel = ? AND chat = ? AND id = ? AND assistant = 1 AND status IN (?, ?)`,
				string(to), s.name, chat, id, string(Sent), string(before))
			if err != nil {
				return err
			}
			if n > 0 {
				moved = append(moved, id)
			}
		}
		return nil
	}, nil)
	if err != nil {
		return nil, writing(err)
	}
	return moved, nil
}

// exec writes with a constant statement.
func (s *Store) exec(ctx context.Context, query string, args ...any) error {
	if _, err := s.db.Exec(ctx, query, args...); err != nil {
		return writing(err)
	}
	return nil
}

// bit returns b as the database keeps it.
func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// column returns v as JSON; empty if there is none. All that is written here can be encoded.
func column(v any) string {
	if b, _ := json.Marshal(v); string(b) != "null" {
		return string(b)
	}
	return ""
}

package history

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/media"
)

// maxPost is above the number of messages of one post.
const maxPost = 1000

var _ journal.Queue = (*Store)(nil)

// News implements journal.Queue.
func (s *Store) News() <-chan struct{} { return s.news }

// Waiting implements journal.Queue.
func (s *Store) Waiting(ctx context.Context) ([]groups.JID, error) {
	return list(ctx, s, state.One[groups.JID], "SELECT '"+Scheme+"' || chat FROM page_waiting WHERE channel = ?1 UNION SELECT '"+Scheme+"' || chat FROM page_act WHERE channel = ?1", s.name)
}

// Next implements journal.Queue. Members' acts come between the posts, in the order of
// their times; their numbers are below 0.
func (s *Store) Next(ctx context.Context, jid groups.JID) (*journal.Inbound, error) {
	chat, _ := ChatOf(jid)
	m, at := journal.Inbound{Chat: jid}, int64(0)
	position := int64(0)
	err := s.db.QueryRowContext(ctx, `SELECT position, n, id, time FROM (
			SELECT * FROM (SELECT m.Seq AS position, m.Seq AS n, m.id, m.time FROM page_waiting w JOIN page_message m ON m.Seq = w.seq
				WHERE w.channel = ?1 AND w.chat = ?2 ORDER BY w.seq LIMIT 1) AS post
			UNION ALL SELECT * FROM (SELECT behind, -n, id, time FROM page_act WHERE channel = ?1 AND chat = ?2 ORDER BY n LIMIT 1) AS act
		) AS either ORDER BY position, n DESC LIMIT 1`, s.name, chat).Scan(&position, &m.Seq, &m.ID, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, reading(err)
	}
	m.Received = time.UnixMilli(at)
	return &m, nil
}

// Done implements journal.Queue.
func (*Store) Done(t *state.Tx, seq int64) error {
	if seq < 0 {
		return t.Exec("DELETE FROM page_act WHERE n = ?", -seq)
	}
	return t.Exec("DELETE FROM page_waiting WHERE seq = ?", seq)
}

// Inbound returns a post for the host, as one message.
func (s *Store) Inbound(ctx context.Context, row journal.Inbound) (channel.Inbound, error) {
	if row.Seq < 0 {
		return s.acted(ctx, row)
	}
	chat, _ := ChatOf(row.Chat)
	ms, err := s.Post(ctx, chat, &Message{Seq: row.Seq, ID: row.ID})
	if err != nil || len(ms) == 0 { // without messages it was deleted just now
		return channel.Inbound{}, err
	}
	first := ms[0]
	in := channel.Inbound{ID: row.ID, Chat: row.Chat, From: first.From, Text: first.Text, Time: first.Time,
		Forwarded: first.Forwarded != "", Author: first.Forwarded, Role: channel.RoleAdmin} // everybody who can open the page may do everything on it
	if err := s.db.QueryRowContext(ctx, "SELECT own FROM page_waiting WHERE seq = ?", row.Seq).Scan(&in.Direct); err != nil {
		return in, reading(err)
	}
	if q := first.Quote; q != nil {
		in.Quote = &channel.Quote{ID: first.ReplyTo, From: q.From, Text: q.Text, Own: in.Direct}
		if err := s.quoteWhole(ctx, chat, in.Quote); err != nil {
			return in, err
		}
	}
	for _, m := range ms {
		if m.File != nil {
			in.Files = append(in.Files, m.File.attachment())
		}
	}
	return in, nil
}

func (f *File) attachment() channel.Attachment {
	return channel.Attachment{Ref: f.ID, Info: media.Info{Name: f.Name, MIME: f.MIME, Kind: f.Kind, Size: f.Size, Loop: f.Loop}}
}

// quoteWhole gives a quote the text of the answered message and the files of its post. A
// file that the chat no longer has gets no Ref.
func (s *Store) quoteWhole(ctx context.Context, chat string, q *channel.Quote) error {
	answered, err := s.ByID(ctx, chat, q.ID)
	if err != nil {
		return err
	}
	if answered == nil {
		gone, err := list(ctx, s, state.One[string], "SELECT file FROM page_gone WHERE channel = ? AND chat = ? AND id = ? AND file <> ''", s.name, chat, q.ID)
		if len(gone) > 0 {
			q.Files = []channel.Attachment{{Info: media.Info{Name: "file", Size: -1}}}
		}
		return err
	}
	q.Text, q.Forwarded = cmp.Or(answered.Text, q.Text), answered.Forwarded != ""
	ms, err := s.Post(ctx, chat, answered)
	for _, m := range ms {
		if m.File != nil {
			q.Files = append(q.Files, m.File.attachment())
		}
	}
	return err
}

// MarkTaken sets the status Delivered if the host has taken the messages.
func (s *Store) MarkTaken(ctx context.Context, chat string, ms []*Message) error {
	if !slices.ContainsFunc(ms, func(m *Message) bool { return m.Status == Received }) {
		return nil
	}
	var first sql.NullInt64
	if err := s.db.QueryRowContext(ctx, "SELECT MIN(seq) FROM page_waiting WHERE channel = ? AND chat = ?", s.name, chat).Scan(&first); err != nil {
		return reading(err)
	}
	for _, m := range ms {
		if m.Status == Received && (!first.Valid || m.Seq < first.Int64) {
			m.Status = Delivered
		}
	}
	return nil
}

// Post returns the messages of the post that begins with m: m and those with further files
// after it.
func (s *Store) Post(ctx context.Context, chat string, m *Message) ([]*Message, error) {
	return s.query(ctx, messages+`chat = ? AND removed = 0 AND seq BETWEEN ? AND ? AND (id = ? OR id LIKE ?) ORDER BY seq`,
		s.name, chat, m.Seq, m.Seq+maxPost, m.ID, m.ID+"-%")
}

// maxActs is how many acts wait in a chat. Then the oldest are discarded.
const maxActs = 500

// Act is what a member does to a message: a reaction, an edit, a deletion or a vote.
type Act struct {
	Kind    channel.Kind `json:"kind"`
	Target  string       `json:"target"`
	From    string       `json:"from"`
	Author  string       `json:"author"` // the mark of the browser's secret
	Emoji   string       `json:"emoji,omitempty"`
	Text    string       `json:"text,omitempty"`
	Choices []string     `json:"choices,omitempty"`
}

// keep enqueues the act for the host.
func (s *Store) keep(t *state.Tx, chat string, a *Act) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make id: %w", err)
	}
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if err := t.Exec(`DELETE FROM page_act WHERE channel = ? AND chat = ? AND kind = ? AND target = ? AND who = ?`, s.name, chat, string(a.Kind), a.Target, a.Author); err != nil {
		return err
	}
	if err := t.Exec(`INSERT INTO page_act (channel, chat, behind, id, kind, target, who, body, time)
		VALUES (?1, ?2, (SELECT MAX(seq) FROM page_message WHERE channel = ?1 AND chat = ?2), ?3, ?4, ?5, ?6, ?7, ?8)`,
		s.name, chat, strings.ReplaceAll(id.String(), "-", ""), string(a.Kind), a.Target, a.Author, string(body), now().UnixMilli()); err != nil {
		return err
	}
	return t.Exec(`DELETE FROM page_act WHERE channel = ?1 AND chat = ?2
		AND n <= (SELECT n FROM page_act WHERE channel = ?1 AND chat = ?2 ORDER BY n DESC LIMIT 1 OFFSET ?3)`, s.name, chat, maxActs)
}

// acted returns an act for the host. The host knows a post by its first message.
func (s *Store) acted(ctx context.Context, row journal.Inbound) (in channel.Inbound, err error) {
	var a Act
	var body string
	if err := s.db.QueryRowContext(ctx, "SELECT body FROM page_act WHERE n = ?", -row.Seq).Scan(&body); err != nil {
		if errors.Is(err, sql.ErrNoRows) { // a later act has just replaced it
			return in, nil
		}
		return in, reading(err)
	}
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		return in, reading(err)
	}
	target, _, _ := strings.Cut(a.Target, "-")
	return channel.Inbound{Kind: a.Kind, ID: row.ID, Chat: row.Chat, From: a.From, Time: row.Received, Role: channel.RoleAdmin,
		Target: target, Emoji: a.Emoji, Text: a.Text, Choices: a.Choices}, nil
}

package web

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/media"
)

// maxPost is above the number of messages of one post.
const maxPost = 1000

var (
	_ journal.Queue   = (*store)(nil)
	_ channel.Fetcher = (*Web)(nil)
)

// News implements journal.Queue.
func (s *store) News() <-chan struct{} { return s.news }

// Waiting implements journal.Queue.
func (s *store) Waiting(ctx context.Context) ([]groups.JID, error) {
	return list(ctx, s, state.One[groups.JID], "SELECT '"+Scheme+"' || chat FROM page_waiting WHERE channel = ?1 UNION SELECT '"+Scheme+"' || chat FROM page_act WHERE channel = ?1", s.name)
}

// Next implements journal.Queue. Members' acts come between the posts, in the order of
// their times; their numbers are below 0.
func (s *store) Next(ctx context.Context, jid groups.JID) (*journal.Inbound, error) {
	chat, _ := chatOf(jid)
	m, at := journal.Inbound{Chat: jid}, int64(0)
	position := int64(0)
	err := s.db.QueryRowContext(ctx, `SELECT position, n, id, time FROM (
			SELECT * FROM (SELECT m.seq AS position, m.seq AS n, m.id, m.time FROM page_waiting w JOIN page_message m ON m.seq = w.seq
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
func (*store) Done(t *state.Tx, seq int64) (err error) {
	if seq < 0 {
		_, err = t.Exec("DELETE FROM page_act WHERE n = ?", -seq)
	} else {
		_, err = t.Exec("DELETE FROM page_waiting WHERE seq = ?", seq)
	}
	return err
}

// inbound returns a post for the host, as one message.
func (s *store) inbound(ctx context.Context, row journal.Inbound) (channel.Inbound, error) {
	if row.Seq < 0 {
		return s.acted(ctx, row)
	}
	chat, _ := chatOf(row.Chat)
	ms, err := s.post(ctx, chat, &Message{seq: row.Seq, ID: row.ID})
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
func (s *store) quoteWhole(ctx context.Context, chat string, q *channel.Quote) error {
	answered, err := s.byID(ctx, chat, q.ID)
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
	ms, err := s.post(ctx, chat, answered)
	for _, m := range ms {
		if m.File != nil {
			q.Files = append(q.Files, m.File.attachment())
		}
	}
	return err
}

// markTaken sets the status Delivered if the host has taken the messages.
func (s *store) markTaken(ctx context.Context, chat string, ms []*Message) error {
	if !slices.ContainsFunc(ms, func(m *Message) bool { return m.Status == Received }) {
		return nil
	}
	var first sql.NullInt64
	if err := s.db.QueryRowContext(ctx, "SELECT MIN(seq) FROM page_waiting WHERE channel = ? AND chat = ?", s.name, chat).Scan(&first); err != nil {
		return reading(err)
	}
	for _, m := range ms {
		if m.Status == Received && (!first.Valid || m.seq < first.Int64) {
			m.Status = Delivered
		}
	}
	return nil
}

// give hands a post or an act to the host.
func (w *Web) give(ctx context.Context, in channel.Inbox, row journal.Inbound) error {
	m, err := w.store.inbound(ctx, row)
	if err != nil || m.ID == "" {
		return err
	}
	if err := in.Receive(ctx, m); err != nil {
		return err
	}
	if chat, _ := chatOf(row.Chat); row.Seq > 0 {
		w.hub.took(chat, row.ID)
	}
	return nil
}

// Fetch opens a member's file while its message is in the history.
func (w *Web) Fetch(ctx context.Context, f channel.FileRef) (io.ReadCloser, error) {
	if !w.opened.Load() {
		return nil, &channel.Error{Class: channel.Held, Code: "not_connected", Message: "the chat page does not run", Hint: "start the host"}
	}
	chat, _ := chatOf(f.Chat)
	there, err := w.store.holds(ctx, "SELECT EXISTS (SELECT 1 FROM page_message WHERE channel = ? AND chat = ? AND blob = ? AND blob <> '' AND removed = 0)", w.store.name, chat, f.Ref)
	if err != nil {
		return nil, err
	}
	gone := channel.Unfetchable("the chat no longer keeps the file")
	if !there {
		return nil, gone
	}
	body, err := w.blobs.Open(f.Ref)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, gone
	}
	return body, err
}

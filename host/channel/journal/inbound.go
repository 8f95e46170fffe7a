package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// Inbound is a member's message, or an event.
type Inbound struct {
	Seq      int64      // Keep sets it; later messages have larger ones
	Chat     groups.JID // as the Inbox knows it
	ID       string     // the platform's
	Sender   string     // as the platform names who wrote it: one sender uses an id once
	Info     []byte     // what the channel notes beside the content; not nil
	Body     []byte     // the content as it came; not nil
	Received time.Time
	Event    bool // what a member did to a message, or to the chat
}

// Keep makes a member's message durable, so that the platform may be told that we
// have it. A message that is there already stays as it is: platforms repeat what
// they saw no acknowledgement of. With ErrNoRoom it is not kept, and the platform
// must keep it.
func (j *Journal) Keep(ctx context.Context, m Inbound) error {
	_, err := j.KeepNew(ctx, m)
	return err
}

// KeepNew is Keep, and reports whether the message was new.
func (j *Journal) KeepNew(ctx context.Context, m Inbound) (isNew bool, err error) {
	if err := j.HasRoom(); err != nil {
		return false, err
	}
	event := 0
	if m.Event {
		event = 1
	}
	n, err := j.db.Exec(ctx, `INSERT INTO journal_inbound (channel, chat, id, sender, info, message, received, event) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO NOTHING`, j.channel, string(m.Chat), channel.Key(m.ID), channel.Key(m.Sender), m.Info, m.Body, m.Received.UnixNano(), event)
	if err != nil {
		return false, fmt.Errorf("keep inbound message: %w", store.Words(err))
	}
	wake.Up(j.news)
	if j.count() {
		j.prune(ctx)
	}
	return n == 1, nil
}

// count reports whether so many messages came that it is time to prune.
func (j *Journal) count() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.kept++
	return j.kept >= pruneAfter
}

// Ref names the message for ByRef: by Seq and, since a new journal counts from the
// beginning, by its id.
func (m Inbound) Ref() string { return strconv.FormatInt(m.Seq, 10) + " " + m.ID }

// ByRef looks up the message of a chat that has this Ref; nil if it is not known.
func (j *Journal) ByRef(ctx context.Context, chat groups.JID, ref string) (*Inbound, error) {
	seq, id, _ := strings.Cut(ref, " ")
	n, err := strconv.ParseInt(seq, 10, 64)
	if err != nil {
		return nil, nil
	}
	return j.one(ctx, `AND seq = ? AND chat = ? AND id = ?`, n, string(chat), id)
}

const inboundColumns = `SELECT seq, chat, id, sender, info, message, received, event FROM journal_inbound WHERE channel = ? `

// Inbound looks up a member's message; nil if it is not known. Without senders
// it is the latest with that id: others may have used the same one. With
// senders, which are names of one person, it is of that person.
func (j *Journal) Inbound(ctx context.Context, chat groups.JID, id string, senders ...string) (*Inbound, error) {
	where, args := `AND chat = ? AND id = ? AND event = 0`, []any{string(chat), channel.Key(id)}
	for _, s := range senders {
		args = append(args, channel.Key(s))
	}
	if n := len(senders); n > 0 {
		where += ` AND sender IN (?` + strings.Repeat(`, ?`, n-1) + `)`
	}
	return j.one(ctx, where+` ORDER BY seq DESC LIMIT 1`, args...)
}

// The messages that the host does not have. Their index has the first condition.
const (
	received = `AND state <> 'done' AND state = 'received'`
	waiting  = `SELECT DISTINCT chat FROM journal_inbound WHERE channel = ? ` + received
	next     = received + ` AND chat = ? ORDER BY seq LIMIT 1`
)

func (j *Journal) one(ctx context.Context, where string, args ...any) (*Inbound, error) {
	var m Inbound
	var at int64
	err := j.db.QueryRowContext(ctx, inboundColumns+where, append([]any{j.channel}, args...)...).Scan(&m.Seq, &m.Chat, &m.ID, &m.Sender, &m.Info, &m.Body, &at, &m.Event)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read inbound message: %w", store.Words(err))
	}
	m.Received = time.Unix(0, at)
	return &m, nil
}

// News implements Queue.
func (j *Journal) News() <-chan struct{} { return j.news }

// Waiting implements Queue.
func (j *Journal) Waiting(ctx context.Context) (chats []groups.JID, err error) {
	rows, err := j.db.QueryContext(ctx, waiting, j.channel)
	if chats, err = state.All(rows, err, state.One[groups.JID]); err != nil {
		return nil, fmt.Errorf("list inbound messages: %w", store.Words(err))
	}
	return chats, nil
}

// Next implements Queue.
func (j *Journal) Next(ctx context.Context, chat groups.JID) (*Inbound, error) {
	return j.one(ctx, next, string(chat))
}

// Done implements Queue.
func (*Journal) Done(t *state.Tx, seq int64) error {
	return t.Exec(`UPDATE journal_inbound SET state = 'done' WHERE seq = ?`, seq)
}

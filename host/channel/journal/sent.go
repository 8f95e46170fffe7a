package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/store"
)

// Sent is a message of ours.
type Sent struct {
	ID      string // the platform's
	Chat    groups.JID
	Body    []byte // the message as the platform gets it
	Note    string // of its receipt
	Created time.Time
	Acked   time.Time // the platform's time of it; zero: not acknowledged
}

// Sent looks a message up; nil if it is not known.
func (j *Journal) Sent(ctx context.Context, id string) (*Sent, error) {
	var m Sent
	var created, acked int64
	err := j.db.QueryRowContext(ctx, `SELECT id, chat, message, note, created, acked FROM journal_sent WHERE channel = ? AND id = ?`, j.channel, id).
		Scan(&m.ID, &m.Chat, &m.Body, &m.Note, &created, &acked)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up sent message: %w", store.Words(err))
	}
	m.Created = time.Unix(0, created)
	if acked != 0 {
		m.Acked = time.Unix(0, acked)
	}
	return &m, nil
}

// Record makes a finished message durable before it is handed to the platform.
// It replaces what an earlier attempt has recorded.
func (j *Journal) Record(ctx context.Context, m Sent) error {
	return j.exec(ctx, "record message", `INSERT INTO journal_sent (channel, id, chat, message, note, created) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (channel, id) DO UPDATE SET message = excluded.message, note = excluded.note, created = excluded.created`,
		j.channel, m.ID, string(m.Chat), m.Body, m.Note, m.Created.UnixNano())
}

// Acknowledge makes the platform's first word durable.
func (j *Journal) Acknowledge(ctx context.Context, id string, at time.Time) error {
	return j.exec(ctx, "record acknowledgement", `UPDATE journal_sent SET acked = ? WHERE channel = ? AND id = ? AND acked = 0`, at.UnixNano(), j.channel, id)
}

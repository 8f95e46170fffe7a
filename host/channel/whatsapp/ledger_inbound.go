package whatsapp

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/groups"
)

// inboundInfo is what is kept of a member's message beside its content.
type inboundInfo struct {
	Chat     types.JID // as WhatsApp addresses it
	Sender   types.JID // with the device
	Alt      types.JID // the sender's other address
	IsGroup  bool
	PushName string
	Time     time.Time
}

// inboundMessage is a row of inbound.
type inboundMessage struct {
	seq      int64
	chat     groups.JID
	id       string
	info     inboundInfo
	message  *waE2E.Message
	received time.Time
}

// putInbound makes a member's message durable. A message that is there already
// stays as it is: WhatsApp repeats what it saw no acknowledgement of.
func (l *ledger) putInbound(ctx context.Context, m inboundMessage) error {
	info, err := json.Marshal(m.info)
	if err != nil {
		return fmt.Errorf("keep inbound message: %w", err)
	}
	blob, err := proto.Marshal(m.message)
	if err != nil {
		return fmt.Errorf("keep inbound message: %w", err)
	}
	_, err = l.db.ExecContext(ctx, `INSERT INTO inbound (chat, id, sender, info, message, received) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT DO NOTHING`,
		string(m.chat), m.id, m.info.Sender.ToNonAD().String(), info, blob, m.received.UnixNano())
	if err != nil {
		return fmt.Errorf("keep inbound message: %w", err)
	}
	return nil
}

// openChats are the chats with messages that the Inbox has not kept.
func (l *ledger) openChats(ctx context.Context) ([]groups.JID, error) {
	rows, err := l.db.QueryContext(ctx, `SELECT DISTINCT chat FROM inbound WHERE done = 0`)
	if err != nil {
		return nil, fmt.Errorf("list inbound messages: %w", err)
	}
	defer rows.Close()
	var chats []groups.JID
	for rows.Next() {
		var chat groups.JID
		if err := rows.Scan(&chat); err != nil {
			return nil, fmt.Errorf("list inbound messages: %w", err)
		}
		chats = append(chats, chat)
	}
	return chats, rows.Err()
}

const inboundColumns = `SELECT seq, chat, id, info, message, received FROM inbound `

// nextInbound is the oldest message of a chat that the Inbox has not kept, or nil.
func (l *ledger) nextInbound(ctx context.Context, chat groups.JID) (*inboundMessage, error) {
	return scanInbound(l.db.QueryRowContext(ctx, inboundColumns+`WHERE chat = ? AND done = 0 ORDER BY seq LIMIT 1`, string(chat)))
}

// inbound looks up a member's message that lately came in, or nil.
func (l *ledger) inbound(ctx context.Context, chat groups.JID, id string) (*inboundMessage, error) {
	return scanInbound(l.db.QueryRowContext(ctx, inboundColumns+`WHERE chat = ? AND id = ? ORDER BY seq DESC LIMIT 1`, string(chat), id))
}

// inboundBy looks up a member's message that lately came in, or nil. Others may
// have used the same id.
func (l *ledger) inboundBy(ctx context.Context, chat groups.JID, id string, who member) (*inboundMessage, error) {
	return scanInbound(l.db.QueryRowContext(ctx, inboundColumns+`WHERE chat = ? AND id = ? AND sender IN (?, ?) ORDER BY seq DESC LIMIT 1`,
		string(chat), id, who.jid.String(), who.alt.ToNonAD().String()))
}

func scanInbound(row *sql.Row) (*inboundMessage, error) {
	var m inboundMessage
	var info, blob []byte
	var received int64
	err := row.Scan(&m.seq, &m.chat, &m.id, &info, &blob, &received)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(info, &m.info)
	}
	if err == nil {
		m.message = &waE2E.Message{}
		err = proto.Unmarshal(blob, m.message)
	}
	if err != nil {
		return nil, fmt.Errorf("read inbound message: %w", err)
	}
	m.received = time.Unix(0, received)
	return &m, nil
}

// doneInbound marks a message as kept by the Inbox.
func (l *ledger) doneInbound(ctx context.Context, seq int64) error {
	if _, err := l.db.ExecContext(ctx, `UPDATE inbound SET done = 1 WHERE seq = ?`, seq); err != nil {
		return fmt.Errorf("settle inbound message: %w", err)
	}
	return nil
}

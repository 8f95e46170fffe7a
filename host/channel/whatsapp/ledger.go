package whatsapp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/decode"
)

// ledger is the journal, in WhatsApp's terms.
type ledger struct{ *journal.Journal }

// sentMessage is a message that we sent or are about to send.
type sentMessage struct {
	journal.Sent
	message *waE2E.Message
}

// sent returns a message that we sent, or nil if it is not recorded.
func (l ledger) sent(ctx context.Context, id string) (*sentMessage, error) {
	row, err := l.Sent(ctx, id)
	if err != nil || row == nil {
		return nil, err
	}
	m := &sentMessage{Sent: *row, message: &waE2E.Message{}}
	if err := proto.Unmarshal(row.Body, m.message); err != nil {
		return nil, fmt.Errorf("read sent message: %w", err)
	}
	return m, nil
}

// putSent records a finished message durably before the library gets it.
func (l ledger) putSent(ctx context.Context, m sentMessage) (err error) {
	if m.Body, err = proto.Marshal(m.message); err != nil {
		return fmt.Errorf("record message: %w", err)
	}
	return l.Record(ctx, m.Sent)
}

// inboundMessage is a member's message.
type inboundMessage struct {
	journal.Inbound
	info    decode.Meta
	message *waE2E.Message
}

// writer returns the member who wrote the message.
func (m *inboundMessage) writer() member {
	return member{m.info.Sender.ToNonAD(), m.info.Alt.ToNonAD()}
}

// putInbound records a member's message durably.
func (l ledger) putInbound(ctx context.Context, m inboundMessage) (err error) {
	if m.Info, err = json.Marshal(m.info); err != nil {
		return fmt.Errorf("keep inbound message: %w", err)
	}
	if m.Body, err = proto.Marshal(m.message); err != nil {
		return fmt.Errorf("keep inbound message: %w", err)
	}
	m.Event = !decode.Message(m.message, m.info).Kind.IsMessage()
	m.Sender, m.Received = m.info.Sender.ToNonAD().String(), time.Now()
	return l.Keep(ctx, m.Inbound)
}

// inbound returns the latest message of any member with that id, or nil.
func (l ledger) inbound(ctx context.Context, chat groups.JID, id string) (*inboundMessage, error) {
	return read(l.Inbound(ctx, chat, id))
}

// inboundBy returns the message of that member with that id, or nil: other members
// may have used the same id.
func (l ledger) inboundBy(ctx context.Context, chat groups.JID, id string, who member) (*inboundMessage, error) {
	return read(l.Inbound(ctx, chat, id, who.jid.String(), who.alt.ToNonAD().String()))
}

func read(row *journal.Inbound, err error) (*inboundMessage, error) {
	if err != nil || row == nil {
		return nil, err
	}
	m := &inboundMessage{Inbound: *row, message: &waE2E.Message{}}
	if err := json.Unmarshal(row.Info, &m.info); err != nil {
		return nil, fmt.Errorf("read inbound message: %w", err)
	}
	if err := proto.Unmarshal(row.Body, m.message); err != nil {
		return nil, fmt.Errorf("read inbound message: %w", err)
	}
	return m, nil
}

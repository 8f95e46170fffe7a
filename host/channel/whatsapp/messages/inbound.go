package messages

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
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/directory"
)

// maxBody is how many bytes of a message are kept: a text and what it quotes have up to 65,536 characters
// each, of up to 4 bytes. The pictures beside them are small.
const maxBody = 1 << 20

// Inbound is a member's message.
type Inbound struct {
	journal.Inbound
	Meta    decode.Meta
	Message *waE2E.Message
}

// Writer returns the member who wrote the message.
func (m *Inbound) Writer() directory.Member {
	return directory.NewMember(m.Meta.Sender, m.Meta.Alt)
}

// PutInbound records a member's message durably. One that is too large it records as words.
func (s Store) PutInbound(ctx context.Context, m Inbound) (err error) {
	if proto.Size(m.Message) > maxBody {
		m.Message, m.Meta.Unread = &waE2E.Message{}, decode.TooLarge
	}
	if m.Info, err = json.Marshal(m.Meta); err != nil {
		return fmt.Errorf("keep inbound message: %w", err)
	}
	if m.Body, err = proto.Marshal(m.Message); err != nil {
		return fmt.Errorf("keep inbound message: %w", err)
	}
	m.Event = !decode.Message(m.Message, m.Meta).Kind.IsMessage()
	m.Sender, m.Received = m.Meta.Sender.ToNonAD().String(), time.Now()
	return s.Keep(ctx, m.Inbound)
}

// FindInbound returns the latest message of any member with that id, or nil.
func (s Store) FindInbound(ctx context.Context, chat groups.JID, id string) (*Inbound, error) {
	return Read(s.Inbound(ctx, chat, id))
}

// FindInboundBy returns the message of that member with that id, or nil: other members
// may have used the same id.
func (s Store) FindInboundBy(ctx context.Context, chat groups.JID, id string, who directory.Member) (*Inbound, error) {
	return Read(s.Inbound(ctx, chat, id, who.JID.String(), who.Alt.ToNonAD().String()))
}

// Read decodes a row of the journal. It returns nil for no row, and an error as it is.
func Read(row *journal.Inbound, err error) (*Inbound, error) {
	if err != nil || row == nil {
		return nil, err
	}
	m := &Inbound{Inbound: *row, Message: &waE2E.Message{}}
	if err := json.Unmarshal(row.Info, &m.Meta); err != nil {
		return nil, fmt.Errorf("read inbound message: %w", err)
	}
	if err := proto.Unmarshal(row.Body, m.Message); err != nil {
		return nil, fmt.Errorf("read inbound message: %w", err)
	}
	return m, nil
}

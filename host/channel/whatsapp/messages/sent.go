// Package messages records what was sent and received lately, so that messages can be repeated,
// quoted and handed to the host after a restart.
package messages

import (
	"context"
	"fmt"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/compose"
)

// Store is the channel's journal with WhatsApp's messages.
type Store struct{ *journal.Journal }

// Sent is a message that we sent or are about to send.
type Sent struct {
	journal.Sent
	Message *waE2E.Message
}

// FindSent returns a message that we sent, or nil if it is not recorded.
func (s Store) FindSent(ctx context.Context, id string) (*Sent, error) {
	row, err := s.Sent(ctx, id)
	if err != nil || row == nil {
		return nil, err
	}
	m := &Sent{Sent: *row, Message: &waE2E.Message{}}
	if err := proto.Unmarshal(row.Body, m.Message); err != nil {
		return nil, fmt.Errorf("read sent message: %w", err)
	}
	return m, nil
}

// PutSent records a finished message durably before the library gets it.
func (s Store) PutSent(ctx context.Context, m Sent) (err error) {
	if m.Body, err = proto.Marshal(m.Message); err != nil {
		return fmt.Errorf("record message: %w", err)
	}
	return s.Record(ctx, m.Sent)
}

// ReceiptID returns the id of the Receipt that the message is a part of: an album's or its own.
func (m *Sent) ReceiptID() string {
	if album := m.Message.GetMessageContextInfo().GetMessageAssociation().GetParentMessageKey().GetID(); album != "" {
		return album
	}
	return m.ID
}

// Shown returns the message that members see for a Receipt's id, an album's first file. It is
// nil if it is not recorded.
func (s Store) Shown(ctx context.Context, id string) (*Sent, error) {
	if m, err := s.FindSent(ctx, id); err != nil || m == nil || m.Message.AlbumMessage == nil {
		return m, err
	}
	return s.FindSent(ctx, compose.AlbumFileID(id, 0))
}

// Completed returns the id of the Receipt that a device's receipt for a message completes, or
// an empty id: an album is complete with its last file.
func (s Store) Completed(ctx context.Context, m *Sent) (string, error) {
	id := m.ReceiptID()
	if id == m.ID && m.Message.AlbumMessage == nil {
		return id, nil
	}
	album, err := s.FindSent(ctx, id)
	if err != nil || album == nil || compose.AlbumFileID(id, compose.AlbumFiles(album.Message)-1) != m.ID {
		return "", err
	}
	return id, nil
}

// ShownIDs returns the ids of all messages that belong to a Receipt's id. files says that the
// Receipt may have files: if it is no longer recorded, it may be the largest album.
func (s Store) ShownIDs(ctx context.Context, id string, files bool) (ids []string, err error) {
	m, err := s.FindSent(ctx, id)
	if err != nil {
		return nil, err
	}
	n := 0
	if m != nil {
		n = compose.AlbumFiles(m.Message)
	} else if files {
		n = compose.MaxAlbum
	}
	for i := range n {
		ids = append(ids, compose.AlbumFileID(id, i))
	}
	return append(ids, id), nil
}

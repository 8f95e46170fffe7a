package operator

import (
	"context"
	"errors"
	"time"

	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// Link is a file that was too large for its chat and that members fetch at an address. Only
// the chat has the address.
type Link struct {
	ID      string    `json:"id"`
	Group   string    `json:"group"` // the folder
	Channel string    `json:"channel"`
	Chat    string    `json:"chat"`
	Name    string    `json:"name"` // foreign text
	Bytes   int64     `json:"bytes"`
	SHA256  string    `json:"sha256"`
	Made    time.Time `json:"made"`
	Expires time.Time `json:"expires"`
}

// Links returns the links of a group, or of all.
func (l *Local) Links(ctx context.Context, group string) ([]Link, error) {
	if l.Outbox == nil {
		return nil, ErrNoHost
	}
	kept, err := l.Outbox.Reader().Links(ctx, group)
	all := []Link{}
	for _, l := range kept {
		all = append(all, Link{
			ID: l.ID, Group: l.Folder, Channel: l.Channel, Chat: l.Chat, Name: l.File.Name, Bytes: l.File.Size, SHA256: l.File.SHA256,
			Made: l.Made.UTC(), Expires: l.Expires.UTC(),
		})
	}
	return all, err
}

// RevokeLink ends a link.
func (l *Local) RevokeLink(ctx context.Context, id string) error {
	if l.Outbox == nil {
		return ErrNoHost
	}
	err := l.Outbox.EndLink(ctx, id)
	if errors.Is(err, records.ErrNoLink) {
		return &refusal.Error{Code: CodeNotFound, Message: "no link has this id, or no longer", Hint: "see: longshore links list"}
	}
	return err
}

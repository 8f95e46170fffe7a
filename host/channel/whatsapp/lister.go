package whatsapp

import (
	"context"

	"github.com/longshore-bridge/longshore/host/channel"
)

var (
	_ channel.Lister   = (*WhatsApp)(nil)
	_ channel.Unpairer = (*WhatsApp)(nil)
)

// Chats is JoinedGroups in the words that all channels share.
func (w *WhatsApp) Chats(ctx context.Context) ([]channel.Chat, error) {
	joined, err := w.JoinedGroups(ctx)
	if err != nil {
		return nil, err
	}
	chats := make([]channel.Chat, 0, len(joined))
	for _, g := range joined {
		c := channel.Chat{JID: g.JID, Name: g.Name, Members: g.Members}
		if g.AdminsOnly {
			c.Note = "only admins may write; the account is none"
		}
		chats = append(chats, c)
	}
	return chats, nil
}

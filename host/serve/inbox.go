package serve

import (
	"context"
	"log/slog"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/assistant"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
)

// inbox hands on what comes in from the channels: members' messages to the
// assistants, receipts to the outbox.
type inbox struct {
	groups     *groups.Registry
	assistants *assistant.Manager
	outbox     *outbox.Outbox
	log        *slog.Logger
	trace      func(folder, request, step string)
}

var _ channel.Inbox = inbox{}

// Receive implements channel.Inbox.
func (i inbox) Receive(ctx context.Context, m channel.Inbound) error {
	g, _ := i.groups.ByChat(m.Chat)
	i.trace(g.Folder, "", "received")
	return i.assistants.Receive(ctx, m)
}

// Report implements channel.Inbox.
func (i inbox) Report(ctx context.Context, chat groups.JID, id string, state channel.State) {
	if err := i.outbox.Report(ctx, chat, id, state); err != nil {
		i.log.Error("record receipt", "chat", string(chat), "error", err)
	}
}

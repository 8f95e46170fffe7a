package serve

import (
	"context"
	"log/slog"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/assistant"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
)

// inbox hands on what comes in from one channel: members' messages to the
// assistants, receipts to the outbox. It knows the channel's name, so that no
// channel speaks for another.
type inbox struct {
	channel    string
	groups     func() *groups.Registry
	assistants *assistant.Manager
	outbox     *outbox.Outbox
	log        *slog.Logger
	trace      func(folder, request, step string)

	// approval takes what is an answer to an approval.
	approval func(context.Context, groups.Address, *channel.Inbound) (taken bool, err error)
	// hide takes what no assistant may hear of.
	hide func(context.Context, groups.Address, *channel.Inbound) (drop bool, err error)
}

var _ channel.Inbox = inbox{}

// Receive implements channel.Inbox.
func (i inbox) Receive(ctx context.Context, m channel.Inbound) error {
	chat := groups.Address{Channel: i.channel, JID: m.Chat}
	if drop, err := i.hide(ctx, chat, &m); drop || err != nil {
		return err
	}
	if taken, err := i.approval(ctx, chat, &m); taken || err != nil {
		return err
	}
	g, ok := i.groups().ByAddress(chat)
	if !ok {
		return nil // a chat without a group
	}
	i.trace(g.Folder, "", "received")
	return i.assistants.Receive(ctx, g.Folder, m)
}

// Report implements channel.Inbox.
func (i inbox) Report(ctx context.Context, chat groups.JID, id string, state channel.State) {
	if err := i.outbox.Report(ctx, groups.Address{Channel: i.channel, JID: chat}, id, state); err != nil {
		i.log.Error("record receipt", "channel", i.channel, "chat", string(chat), "error", err)
	}
}

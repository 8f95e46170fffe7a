package serve

import (
	"context"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// inbox implements channel.Inbox for one channel: members' messages go to the assistants, receipts to
// the outbox. It knows the channel's name, so that no channel speaks for another.
type inbox struct {
	channel string
	h       *Host
}

func (i inbox) Receive(ctx context.Context, m channel.Inbound) error {
	chat := groups.Address{Channel: i.channel, JID: m.Chat}
	if drop, err := i.h.Bridge.Hide(ctx, chat, &m); drop || err != nil {
		return err
	}
	if taken, err := i.h.Bridge.Answer(ctx, chat, &m); taken || err != nil {
		return err
	}
	g, ok := i.h.Registry().ByAddress(chat)
	if !ok {
		return nil // a chat without a group
	}
	i.h.opts.Trace(g.Folder, "", "received")
	return i.h.assistants.Receive(ctx, g.Folder, m)
}

func (i inbox) Report(ctx context.Context, chat groups.JID, id string, state channel.State) {
	if err := i.h.Outbox.Report(ctx, groups.Address{Channel: i.channel, JID: chat}, id, state); err != nil {
		i.h.opts.Log.Error("record receipt", "channel", i.channel, "chat", string(chat), "error", err)
	}
}

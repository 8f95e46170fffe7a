package serve

import (
	"context"
	"io"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// carriers are channels, found by the groups whose chats they carry.
type carriers struct {
	channels []channel.Channel
	groups   *groups.Registry
}

// of finds the channel that carries a group's chat, or nil.
func (all carriers) of(chat groups.JID) channel.Channel {
	g, ok := all.groups.ByChat(chat)
	if !ok {
		return nil
	}
	return channel.For(all.channels, g)
}

// fetch brings a member's file that lies with its platform.
func (all carriers) fetch(ctx context.Context, f channel.FileRef) (io.ReadCloser, error) {
	c, ok := all.of(f.Chat).(channel.Fetcher)
	if !ok {
		return nil, &channel.Error{Class: channel.Permanent, Code: "not_fetchable", Message: "its channel is configured no longer", Hint: "ask the member to send it again"}
	}
	return c.Fetch(ctx, f)
}

// typing shows or hides in a chat that somebody is writing, if its platform can.
func (all carriers) typing(ctx context.Context, chat groups.JID, on bool) {
	if t, ok := all.of(chat).(channel.Typing); ok {
		t.Typing(ctx, chat, on)
	}
}

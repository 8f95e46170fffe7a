package serve

import (
	"context"
	"io"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// carriers are the channels, of which each chat names one.
type carriers []channel.Channel

// fetch brings a member's file that lies with the platform of that channel.
func (all carriers) fetch(ctx context.Context, name string, f channel.FileRef) (io.ReadCloser, error) {
	c, ok := channel.Named(all, name).(channel.Fetcher)
	if !ok {
		return nil, &channel.Error{Class: channel.Permanent, Code: "not_fetchable", Message: "its channel is configured no longer", Hint: "ask the member to send it again"}
	}
	return c.Fetch(ctx, f)
}

// typing shows or hides in a chat that somebody is writing, if its platform can.
func (all carriers) typing(ctx context.Context, chat groups.Address, thread string, on bool) {
	if t, ok := channel.Named(all, chat.Channel).(channel.Typing); ok {
		t.Typing(ctx, chat.JID, thread, on)
	}
}

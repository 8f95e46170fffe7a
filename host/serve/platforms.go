package serve

import (
	"context"
	"io"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// platforms implements turns.Platforms with the host's channels.
type platforms []channel.Channel

// Fetch opens a member's file at the platform of that channel. It fails for good if the channel is
// gone or cannot fetch files. One that is down is asked later.
func (all platforms) Fetch(ctx context.Context, name string, f channel.FileRef) (io.ReadCloser, error) {
	one := channel.Named(all, name)
	if s, down := one.(channel.StandIn); down {
		return nil, s.Held()
	}
	c, ok := one.(channel.Fetcher)
	if !ok {
		return nil, &channel.Error{Class: channel.Permanent, Code: "not_fetchable", Message: "its channel is configured no longer", Hint: "ask the member to send it again"}
	}
	return c.Fetch(ctx, f)
}

// RoleOf asks the platform for a member's role in a chat; unknown if the platform has no roles. If the
// channel is down, nobody knows.
func (all platforms) RoleOf(ctx context.Context, chat groups.Address, sender string) (channel.Role, error) {
	one := channel.Named(all, chat.Channel)
	if s, down := one.(channel.StandIn); down {
		return channel.RoleUnknown, s.Held()
	}
	r, ok := one.(channel.Roles)
	if !ok {
		return channel.RoleUnknown, nil
	}
	return r.RoleOf(ctx, chat.JID, sender)
}

// Typing shows or hides in a chat that somebody is writing, if the platform can.
func (all platforms) Typing(ctx context.Context, chat groups.Address, thread string, on bool) {
	if t, ok := channel.Named(all, chat.Channel).(channel.Typing); ok {
		t.Typing(ctx, chat.JID, thread, on)
	}
}

// HasThreads reports whether the chats of that channel have threads.
func (all platforms) HasThreads(name string) bool {
	c := channel.Named(all, name)
	return c != nil && c.Limits().Threads
}

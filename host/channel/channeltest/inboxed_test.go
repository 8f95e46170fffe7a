package channeltest

import (
	"context"
	"errors"
	"io"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
)

// inboxed is a channel that changes what comes in.
func inboxed(change func(*channel.Inbound)) func(*memory.Channel) channel.Channel {
	return func(m *memory.Channel) channel.Channel {
		return broken{Channel: m, run: func(ctx context.Context, in channel.Inbox) error {
			return m.Run(ctx, changing{in, change})
		}}
	}
}

type changing struct {
	channel.Inbox
	change func(*channel.Inbound)
}

func (c changing) Receive(ctx context.Context, m channel.Inbound) error {
	c.change(&m)
	return c.Inbox.Receive(ctx, m)
}

// twice gives everything two times.
type twice struct{ channel.Inbox }

func (i twice) Receive(ctx context.Context, m channel.Inbound) error {
	return errors.Join(i.Inbox.Receive(ctx, m), i.Inbox.Receive(ctx, m))
}

// losing takes no word for a refusal.
type losing struct{ channel.Inbox }

func (i losing) Receive(ctx context.Context, m channel.Inbound) error {
	_ = i.Inbox.Receive(ctx, m)
	return nil
}

// stubborn takes what is gone for a passing trouble.
type stubborn struct{ *memory.Channel }

func (s stubborn) Fetch(ctx context.Context, f channel.FileRef) (io.ReadCloser, error) {
	r, err := s.Channel.Fetch(ctx, f)
	if err != nil {
		return nil, errors.New("not found")
	}
	return r, nil
}

// quoting is a channel that changes what messages answer.
func quoting(change func(*channel.Quote)) func(*memory.Channel) channel.Channel {
	return inboxed(func(in *channel.Inbound) {
		if in.Quote != nil {
			change(in.Quote)
		}
	})
}

package channeltest

import (
	"context"
	"sync"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
)

// altered is a channel that sends another message than it was given.
func altered(change func(*channel.Message)) func(*memory.Channel) channel.Channel {
	return func(m *memory.Channel) channel.Channel {
		return broken{Channel: m, send: func(ctx context.Context, msg channel.Message) (channel.Receipt, error) {
			change(&msg)
			return m.Send(ctx, msg)
		}}
	}
}

// classed is a channel whose errors are all of one class.
func classed(class channel.Class) func(*memory.Channel) channel.Channel {
	return func(m *memory.Channel) channel.Channel {
		return broken{Channel: m, send: func(ctx context.Context, msg channel.Message) (channel.Receipt, error) {
			r, err := m.Send(ctx, msg)
			if err != nil {
				err = &channel.Error{Class: class, Code: "trouble", Message: "trouble", Err: err}
			}
			return r, err
		}}
	}
}

// remembering is a channel that keeps ids in its own memory only.
func remembering(m *memory.Channel) channel.Channel {
	var mu sync.Mutex
	known := map[string]channel.Receipt{}
	return broken{Channel: m, send: func(ctx context.Context, msg channel.Message) (channel.Receipt, error) {
		mu.Lock()
		defer mu.Unlock()
		if r, ok := known[msg.ID]; ok {
			return r, nil
		}
		r, err := m.Send(ctx, msg)
		known[msg.ID] = r
		return r, err
	}}
}

// shuffled acknowledges every other message before it shows it, after the next.
func shuffled() func(*memory.Channel) channel.Channel {
	return func(m *memory.Channel) channel.Channel {
		var late *channel.Message
		return broken{Channel: m, send: func(ctx context.Context, msg channel.Message) (channel.Receipt, error) {
			if late == nil {
				late = &msg
				r, err := m.Send(ctx, memory.Text(newID(), "mem:work", ""))
				return r, err
			}
			r, err := m.Send(ctx, msg)
			if err == nil {
				_, err = m.Send(ctx, *late)
			}
			late = nil
			return r, err
		}}
	}
}

// forgetful says of everything that it was never sent.
type forgetful struct{ *memory.Channel }

func (f forgetful) Find(context.Context, channel.Message) (*channel.Receipt, error) { return nil, nil }

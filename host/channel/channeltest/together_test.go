package channeltest

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
)

// together is a channel that sends several messages at once in a wrong way.
func together(sendAll func(*memory.Channel, context.Context, []channel.Message) []channel.Outcome) func(*memory.Channel) channel.Channel {
	return func(m *memory.Channel) channel.Channel { return several{m, sendAll} }
}

type several struct {
	*memory.Channel
	sendAll func(*memory.Channel, context.Context, []channel.Message) []channel.Outcome
}

func (s several) SendAll(ctx context.Context, ms []channel.Message) []channel.Outcome {
	return s.sendAll(s.Channel, ctx, ms)
}

// daily knows an id for a day.
type daily struct{ memory.Together }

func (daily) Repeat() channel.Repeat { return channel.Repeat{Keyed: 24 * time.Hour} }

// all sends what it is given, whatever becomes of the others.
func all(m *memory.Channel, ctx context.Context, ms []channel.Message) (outs []channel.Outcome) {
	for _, msg := range ms {
		r, err := m.Send(ctx, msg)
		outs = append(outs, channel.Outcome{Receipt: r, Err: err})
	}
	return outs
}

func reversed(m *memory.Channel, ctx context.Context, ms []channel.Message) []channel.Outcome {
	ms = slices.Clone(ms)
	slices.Reverse(ms)
	outs := all(m, ctx, ms)
	slices.Reverse(outs)
	return outs
}

func mixed(m *memory.Channel, ctx context.Context, ms []channel.Message) []channel.Outcome {
	outs := all(m, ctx, ms)
	outs = append(outs[1:], outs[0])
	return outs
}

// timid ends after any error.
func timid(m *memory.Channel, ctx context.Context, ms []channel.Message) []channel.Outcome {
	outs := all(m, ctx, ms)
	if i := slices.IndexFunc(outs, func(o channel.Outcome) bool { return o.Err != nil }); i >= 0 {
		return outs[:i+1]
	}
	return outs
}

// allOrNone looks at the files first.
func allOrNone(m *memory.Channel, ctx context.Context, ms []channel.Message) []channel.Outcome {
	for _, msg := range ms {
		for _, f := range msg.Files {
			if r, err := f.Open(); err == nil {
				_, err = io.Copy(io.Discard, r)
				if err = errors.Join(err, r.Close()); err != nil {
					return []channel.Outcome{{Err: err}}
				}
			}
		}
	}
	return all(m, ctx, ms)
}

func deaf(m *memory.Channel, _ context.Context, ms []channel.Message) []channel.Outcome {
	return all(m, context.Background(), ms)
}

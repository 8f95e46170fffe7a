package channeltest

import (
	"context"
	"errors"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
)

// changesWrong is a channel that makes changes in a wrong way.
type changesWrong struct {
	memory.Acting
	do func(memory.Acting, channel.Change) error
}

func changed(do func(memory.Acting, channel.Change) error) func(*memory.Channel) channel.Channel {
	return func(m *memory.Channel) channel.Channel { return changesWrong{memory.Acting{Channel: m}, do} }
}

func (c changesWrong) Edit(_ context.Context, ch channel.Change) error   { return c.do(c.Acting, ch) }
func (c changesWrong) React(_ context.Context, ch channel.Change) error  { return c.do(c.Acting, ch) }
func (c changesWrong) Unsend(_ context.Context, ch channel.Change) error { return c.do(c.Acting, ch) }

func nothing(memory.Acting, channel.Change) error { return nil }

// once fails when it is asked to unsend what is gone.
func once() func(memory.Acting, channel.Change) error {
	gone := false
	return func(m memory.Acting, c channel.Change) error {
		if gone {
			return &channel.Error{Class: channel.Permanent, Code: "unknown_message", Message: "gone", Err: errors.New("gone")}
		}
		gone = true
		return m.Unsend(context.Background(), c)
	}
}

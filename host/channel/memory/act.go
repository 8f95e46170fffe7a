package memory

import (
	"context"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
)

// Acting is a Channel whose account can change what a chat has. Faults and Script are
// asked about changes too, as about a Message with the change's ID and Text.
type Acting struct {
	*Channel
	Within time.Duration // for edits and unsending; 0: for ever
}

var (
	_ channel.Editor    = Acting{}
	_ channel.Reactor   = Acting{}
	_ channel.Unsender  = Acting{}
	_ channel.PollEnder = Acting{}
)

// EditWithin implements channel.Editor.
func (a Acting) EditWithin() time.Duration {
	if a.Within == 0 {
		return channel.Forever
	}
	return a.Within
}

// UnsendWithin implements channel.Unsender.
func (a Acting) UnsendWithin() time.Duration { return a.EditWithin() }

// Edit implements channel.Editor.
func (a Acting) Edit(ctx context.Context, c channel.Change) error {
	return a.act(ctx, c, func(s *Seen) {
		if s.Text != c.Text {
			s.Text, s.Edits = c.Text, s.Edits+1
		}
	})
}

// React implements channel.Reactor. Any message can be reacted to that the channel shows.
func (a Acting) React(ctx context.Context, c channel.Change) error {
	return a.act(ctx, c, func(s *Seen) { s.Reaction = c.Emoji })
}

// Unsend implements channel.Unsender.
func (a Acting) Unsend(ctx context.Context, c channel.Change) error {
	return a.act(ctx, c, func(s *Seen) { *s = Seen{ID: s.ID, Thread: s.Thread, Gone: true} })
}

// EndPoll implements channel.PollEnder.
func (a Acting) EndPoll(ctx context.Context, c channel.Change) error {
	return a.act(ctx, c, func(s *Seen) { s.Closed = c.Text })
}

func (a Acting) act(ctx context.Context, c channel.Change, do func(*Seen)) error {
	m := channel.Message{ID: c.ID, Chat: c.Chat, Thread: c.Thread, Text: c.Text}
	n, fault := a.p.begin(m, a.opts.Script)
	err := a.tryAct(ctx, c, m, fault, do)
	a.p.finish(n, err)
	return err
}

func (a Acting) tryAct(ctx context.Context, c channel.Change, m channel.Message, f Fault, do func(*Seen)) error {
	if err := a.refuse(ctx, m); err != nil {
		return err
	}
	if err := f.wait(ctx); err != nil {
		return err
	}
	failing := f.Hang || f.Err != nil
	if failing && !f.Shown {
		return f.end(ctx)
	}
	if a.Within > 0 && time.Since(c.Sent) > a.Within {
		return &channel.Error{Class: channel.Permanent, Code: "too_late", Message: "the platform no longer allows this"}
	}
	if !a.p.alter(m, c.Target, do) {
		return &channel.Error{Class: channel.Permanent, Code: "unknown_message", Message: "the chat has no such message"}
	}
	if failing {
		return f.end(ctx)
	}
	return nil
}

// alter changes a message that a chat shows. One that is gone can only be unsent, again.
func (p *platform) alter(m channel.Message, id string, do func(*Seen)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.chats[m.Chat] {
		s := &p.chats[m.Chat][i]
		if s.ID != id {
			continue
		}
		after := *s
		do(&after)
		if s.Gone && !after.Equal(*s) {
			return false
		}
		*s = after
		p.changedLocked()
		return true
	}
	return false
}

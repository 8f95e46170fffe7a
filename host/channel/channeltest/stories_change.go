package channeltest

import (
	"context"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
)

// Each story makes its change twice, as a host does that does not know whether the
// first was made, between two messages that stay as they are.

func editShowsOnce(t testing.TB, h Harness) {
	j := join(t, h)
	e, can := j.Channel.(channel.Editor)
	if !can {
		return
	}
	c, others := j.between()
	c.Text = "all of it"
	j.twice(e.Edit, c)
	j.showsNow(Seen{ID: c.Target, Text: "all of it", Edits: 1}, others...)
	j.unknownTarget("Edit", e.Edit, c)
}

func reactionReplaces(t testing.TB, h Harness) {
	j := join(t, h)
	r, can := j.Channel.(channel.Reactor)
	if !can {
		return
	}
	c, others := j.between()
	for _, emoji := range []string{"👀", "👍", ""} {
		c.ID, c.Emoji = newID(), emoji
		j.twice(r.React, c)
		j.showsNow(Seen{ID: c.Target, Text: "half of it", Reaction: emoji}, others...)
	}
	c.Emoji = "👍"
	j.unknownTarget("React", r.React, c)
}

func unsentIsGone(t testing.TB, h Harness) {
	j := join(t, h)
	u, can := j.Channel.(channel.Unsender)
	if !can {
		return
	}
	c, others := j.between()
	j.twice(u.Unsend, c)
	j.showsNow(Seen{ID: c.Target, Gone: true}, others...)
}

// between sends three messages. It returns a change of the second, and the others.
func (j *joined) between() (channel.Change, []Seen) {
	j.t.Helper()
	first := j.send(memory.Text(newID(), j.h.Chat, "before"))
	r := j.send(memory.Text(newID(), j.h.Chat, "half of it"))
	last := j.send(memory.Text(newID(), j.h.Chat, "after"))
	j.h.Received(j.t, j.h.Chat, 3)
	return channel.Change{ID: newID(), Chat: j.h.Chat, Target: r.ID, Sent: r.Time},
		[]Seen{{ID: first.ID, Text: "before"}, {ID: last.ID, Text: "after"}}
}

func (j *joined) twice(do func(context.Context, channel.Change) error, c channel.Change) {
	j.t.Helper()
	for i := range 2 {
		if err := do(j.ctx, c); err != nil {
			j.t.Errorf("made for the %d. time: %v", i+1, err)
		}
	}
}

func (j *joined) showsNow(changed Seen, others ...Seen) {
	j.t.Helper()
	for _, s := range append(others, changed) {
		if got := j.h.Now(j.t, j.h.Chat, s.ID); !got.Equal(s) {
			j.t.Errorf("members see %+v, want %+v", got, s)
		}
	}
}

// unknownTarget makes a change of a message that another chat has.
func (j *joined) unknownTarget(name string, do func(context.Context, channel.Change) error, c channel.Change) {
	j.t.Helper()
	c.ID, c.Chat = newID(), j.h.Other
	if err := do(j.ctx, c); channel.ClassOf(err) != channel.Permanent {
		j.t.Errorf("%s of a message that the chat does not have: %v, want a permanent error", name, err)
	}
}

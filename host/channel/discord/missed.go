package discord

import (
	"context"
	"strconv"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
)

// heardKey is the journal's key of the time up to which all messages are kept.
const heardKey = "heard"

// heard records that all messages before a time are kept. It records the time by Discord's clock.
func (g *gateway) heard(ctx context.Context, at time.Time) {
	if !g.current {
		return
	}
	at = g.api.TheirTime(at)
	err := g.open.Journal.Record(ctx, journal.Sent{ID: heardKey, Body: []byte(strconv.FormatInt(at.UnixMilli(), 10)), Created: at})
	if err != nil && ctx.Err() == nil {
		g.Log.Warn("note until when Discord was heard", "error", err)
	}
}

const (
	overlap     = time.Minute // asked for again before the recorded time
	missedPages = 20          // of a chat's messages, at most, after a session that ended
)

// catchUp asks each of the groups' chats for the messages since the recorded time. The journal
// keeps each message once. Messages in threads are lost.
func (g *gateway) catchUp(ctx context.Context) error {
	last, err := g.open.Journal.Sent(ctx, heardKey)
	if err != nil || last == nil {
		return err
	}
	for _, c := range g.Served() {
		err := g.catchUpChat(ctx, idOf(c.JID), last.Created.Add(-overlap))
		switch class := channel.ClassOf(err); {
		case err == nil:
		case class == channel.Passing && channel.RetryAfterOf(err) == 0:
			return err
		default: // the chats that can be asked are not held up
			g.Log.Warn("ask a chat for what was written meanwhile", "chat", c.JID, "error", err)
		}
	}
	return nil
}

// catchUpChat asks for the messages of one chat. Unlike events, they do not name their server.
func (g *gateway) catchUpChat(ctx context.Context, id string, since time.Time) error {
	r, err := g.channelOf(ctx, id)
	if err != nil {
		return err
	}
	return g.eachAfter(ctx, id, since, missedPages, func(m *message) (bool, error) {
		m.Guild = r.Guild
		for _, ev := range m.events(g.self.Load()) {
			if err := g.keepEvent(ctx, ev); err != nil {
				return false, err
			}
		}
		return false, nil
	})
}

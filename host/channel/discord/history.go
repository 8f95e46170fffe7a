package discord

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/internal/wake"
)

const (
	soughtPages = 5 // of a chat's messages, in which a sent one is sought
	pageOf      = 100
	longestRest = time.Minute // that Discord may want between two pages
)

// page returns the next messages of a chat, newest first: 100, or fewer if those are too long for
// an answer. more reports whether others may follow. It waits as Discord asks, up to a minute.
func (d *Discord) page(ctx context.Context, id, after string) (page []message, more bool, err error) {
	for most := pageOf; ; {
		var all []jsontext.Value
		err = d.api.Ask(ctx, "GET", fmt.Sprintf("channels/%s/messages?after=%s&limit=%d", id, after, most), nil, &all)
		wait := channel.RetryAfterOf(err)
		switch {
		case errors.Is(err, transfer.ErrTooLong) && most > 1:
			most /= 10
			continue
		case err == nil, wait <= 0, wait > longestRest:
			for _, data := range all {
				m, _ := readMessage(data) // what is no message is nobody's
				page = append(page, m)
			}
			return page, len(page) == most, err
		}
		if wake.Sleep(ctx, wait); ctx.Err() != nil {
			return nil, false, err
		}
	}
}

// eachAfter calls see with a chat's messages since a time, oldest first, until see stops. If they
// are more than so many pages, it returns a Permanent error.
func (d *Discord) eachAfter(ctx context.Context, id string, since time.Time, pages int, see func(*message) (stop bool, err error)) error {
	after := idAt(since)
	for range pages {
		page, more, err := d.page(ctx, id, after)
		if err != nil {
			return err
		}
		for i := len(page) - 1; i >= 0; i-- { // the newest comes first
			if stop, err := see(&page[i]); stop || err != nil {
				return err
			}
			after = page[i].ID
		}
		if !more || !isID(after) {
			return nil
		}
	}
	return &channel.Error{Class: channel.Permanent, Code: "no_answer", Message: "too many messages were written since"}
}

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

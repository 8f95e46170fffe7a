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
)

// heardKey is where the journal keeps until when the gateway was heard.
const heardKey = "heard"

// heard notes that all is kept that was written before a time of this host's, which is
// noted as Discord's.
func (g *gateway) heard(ctx context.Context, at time.Time) {
	if !g.current {
		return
	}
	at = g.web.atDiscord(at)
	err := g.journal.Record(ctx, journal.Sent{ID: heardKey, Body: []byte(strconv.FormatInt(at.UnixMilli(), 10)), Created: at})
	if err != nil && ctx.Err() == nil {
		g.Log.Warn("note until when Discord was heard", "error", err)
	}
}

const (
	overlap     = time.Minute // of what is asked for and what was heard
	missedPages = 20          // of a chat's messages, at most, after a session that ended
	soughtPages = 5           // of a chat's messages, in which a sent one is sought
	pageOf      = 100
	longestRest = time.Minute // that Discord may want between two pages
)

// catchUp asks each chat of the groups for what was written while nobody heard. What
// the journal has already stays once. Threads are left out.
func (g *gateway) catchUp(ctx context.Context) error {
	last, err := g.journal.Sent(ctx, heardKey)
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

// catchUpChat asks for the messages of one chat. They do not name their server as events
// do, so that it is asked for.
func (g *gateway) catchUpChat(ctx context.Context, id string, since time.Time) error {
	r, err := g.roomOf(ctx, id)
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

// page is the next messages of a chat: fewer, if so many are too long for an answer. more
// says that others may follow. It waits as Discord wants.
func (d *Discord) page(ctx context.Context, id, after string) (page []message, more bool, err error) {
	for most := pageOf; ; {
		var all []jsontext.Value
		err = d.web.call(ctx, "GET", fmt.Sprintf("channels/%s/messages?after=%s&limit=%d", id, after, most), nil, &all)
		wait := channel.RetryAfterOf(err)
		switch {
		case errors.Is(err, errTooLong) && most > 1:
			most /= 10
			continue
		case err == nil, wait <= 0, wait > longestRest:
			for _, data := range all {
				m, _ := readMessage(data) // what is no message is nobody's
				page = append(page, m)
			}
			return page, len(page) == most, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, false, err
		}
	}
}

// eachAfter gives a chat's messages since a time, in order, until it is told to stop. It
// reads that many pages at most.
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

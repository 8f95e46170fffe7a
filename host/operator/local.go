package operator

import (
	"context"
	"fmt"
	"slices"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// Options are what a Local works with. The zero Options see an installation without groups.
type Options struct {
	Layout   groups.Layout
	Version  string
	Groups   Groups            // nil: none
	Channels []channel.Channel // those of the host
	Outbox   *outbox.Outbox    // nil: this process only reads
	Trail    audit.Trail       // of what left and what was refused; nil: its files in Layout
	Records  *records.Reader   // read if Outbox is nil; nil, too: nothing was ever accepted
	Road     Road              // with Outbox
	Running  *Running          // nil: this process does not run the host
	Parts    Examiner          // what makes findings; nil: nothing
}

// Groups are the groups that are configured now.
type Groups interface {
	Groups() []groups.Group
}

// Fixed are groups that do not change.
type Fixed []groups.Group

// Groups implements Groups.
func (f Fixed) Groups() []groups.Group { return f }

// Road accepts what an operator sends or answers: *serve.Host.
type Road interface {
	// Decide answers the approval that a delivery waits for.
	Decide(ctx context.Context, id string, yes bool) error
	// SendFor accepts an operator's file into the outbox.
	SendFor(ctx context.Context, s Send) (records.Delivery, error)
}

// Local is the Control of the process that has the outbox open, or that reads what the
// disk shows. What only a running host can answer, it answers if that runs in this process.
type Local struct {
	Options
	accepting, tokens finding.Background // what asks the state: it may hang
	list              finding.List
}

// NewLocal returns a Local. The caller owns everything in o.
func NewLocal(o Options) *Local {
	l := &Local{Options: o}
	l.accepting = finding.Background{Every: checkTime, First: true, Source: finding.Func(l.ofOutbox)} // it writes to the disk
	l.tokens = finding.Background{Source: finding.Func(l.ofTokens)}
	return l
}

// List returns the matching items, oldest first. If there are more than the
// limit, it returns the newest of them, or the oldest if f says so.
func (l *Local) List(ctx context.Context, f Filter) ([]Item, error) {
	limit := f.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	items := []Item{}
	err := l.deliveries(ctx, f, limit, func(delivery records.Delivery) {
		items = append(items, itemOf(delivery, false))
	})
	if err != nil {
		return nil, err
	}
	if f.Failed {
		requests, err := l.requests(f.Group)
		if err != nil {
			return nil, err
		}
		items = append(items, requests...)
	}
	slices.SortStableFunc(items, func(a, b Item) int { return a.Created.Compare(b.Created) })
	if f.Oldest {
		return items[:min(len(items), limit)], nil
	}
	return items[max(0, len(items)-limit):], nil
}

// records returns the source of the deliveries; nil if there is none.
func (l *Local) records() interface {
	List(context.Context, records.Filter) ([]records.Delivery, error)
	Get(ctx context.Context, name string) (records.Delivery, error)
} {
	switch {
	case l.Outbox != nil:
		return l.Outbox
	case l.Records != nil:
		return l.Records
	}
	return nil
}

// page is how many deliveries are read from the outbox at a time.
const page = 500

// deliveries calls each for up to limit deliveries, newest first, or oldest.
func (l *Local) deliveries(ctx context.Context, f Filter, limit int, each func(records.Delivery)) error {
	source := l.records()
	if source == nil {
		return nil
	}
	query := records.Filter{Folder: f.Group, State: records.FilterOpen, Oldest: f.Oldest}
	switch {
	case f.Failed:
		query.State = records.FilterFailed
	case f.Waiting:
		query.State = records.FilterWaiting
	case f.Moving:
		query.State = records.FilterMoving
	case f.All:
		query.State = records.FilterAll
	}
	for limit > 0 {
		query.Limit = min(limit, page)
		found, err := source.List(ctx, query)
		if err != nil {
			return err
		}
		for _, delivery := range found {
			each(delivery)
		}
		if len(found) < query.Limit {
			return nil
		}
		limit -= len(found)
		query.Before = found[len(found)-1].Key
	}
	return nil
}

// Show returns one item with all its details.
func (l *Local) Show(ctx context.Context, id string) (item Item, err error) {
	err = l.locate(id, func() error {
		item, err = l.request(id)
		return err
	}, func() error {
		delivery, err := l.records().Get(ctx, id)
		item = itemOf(delivery, true)
		return ofOutbox(id, err)
	})
	if err != nil {
		return Item{}, err
	}
	return item, nil
}

// Decide answers an approval.
func (l *Local) Decide(ctx context.Context, id string, yes bool) error {
	if l.Outbox == nil { // nothing was ever accepted
		return notFound(id)
	}
	return ofOutbox(id, l.Road.Decide(ctx, id, yes))
}

// Send accepts a file.
func (l *Local) Send(ctx context.Context, s Send) (Item, error) {
	if !slices.ContainsFunc(l.configured(), func(g groups.Group) bool { return g.Folder == s.Group }) {
		return Item{}, noGroup(s.Group)
	}
	delivery, err := l.Road.SendFor(ctx, s)
	if err != nil {
		return Item{}, err
	}
	if kept, err := l.Outbox.Get(ctx, delivery.Key); err == nil {
		delivery = kept // with its states and ids
	}
	return itemOf(delivery, true), nil
}

// Chats asks the channel for the chats of its account.
func (l *Local) Chats(ctx context.Context, channelName string) ([]channel.Chat, error) {
	c, err := l.channel(channelName)
	if err != nil {
		return nil, err
	}
	if l, ok := c.(channel.Lister); ok {
		return l.Chats(ctx)
	}
	return nil, &refusal.Error{Code: CodeBadCall, Message: fmt.Sprintf("channel %s has no list of chats", channelName), Hint: "its chats are those of longshore.yaml"}
}

// Unpair unlinks the channel from its account.
func (l *Local) Unpair(ctx context.Context, channelName string) error {
	c, err := l.channel(channelName)
	if err != nil {
		return err
	}
	if u, ok := c.(channel.Unpairer); ok {
		return u.Unpair(ctx)
	}
	return &refusal.Error{Code: CodeBadCall, Message: fmt.Sprintf("channel %s has no account", channelName), Hint: "there is nothing to unlink"}
}

func (l *Local) channel(name string) (channel.Channel, error) {
	if c := channel.Named(l.Channels, name); c != nil {
		return c, nil
	}
	return nil, &refusal.Error{Code: CodeNotFound, Message: fmt.Sprintf("no channel %q is configured", name), Hint: "add it under channels: in longshore.yaml"}
}

// configured returns the groups of longshore.yaml.
func (l *Local) configured() []groups.Group {
	if l.Groups == nil {
		return nil
	}
	return l.Groups.Groups()
}

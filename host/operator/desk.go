package operator

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/remote"
	"github.com/longshore-bridge/longshore/internal/refusal"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/ipc"
)

// DeskOptions are the parts that a Desk works with.
type DeskOptions struct {
	Layout   groups.Layout
	Groups   func() []groups.Group // as configured now; nil: none
	Outbox   *outbox.Outbox        // nil: this process only reads
	Records  *outbox.Reader        // used if Outbox is nil; nil too if nothing was ever accepted
	Channels []channel.Channel     // those of the host
	Version  string

	// Running means that this process is the host, and not a command beside it;
	// Started is the time of its start.
	Running bool
	Started time.Time

	Assistants func() []Assistant // nil: none
	// Ignored is what was not for the assistant of the group with that folder; nil: unknown.
	Ignored func(folder string) Ignored
	// Turns is when the group's turns ended lately; nil: unknown.
	Turns func(folder string) Turns
	// Spending is what the group's calls of its model used, if the host passes them on. May be nil.
	Spending func(ctx context.Context, folder string) (s Spending, ok bool)
	// Surroundings is Control's Environment. Nil: this process does not run the host.
	Surroundings func(ctx context.Context, folder string) []channel.Finding

	Applied func() time.Time // when the configuration in force was; nil with Running false
	// Reload is Control's. Nil: this process does not run the host.
	Reloading func(ctx context.Context, remove bool) (Reloaded, error)

	// Codes and Approving are Control's Requests and Approve. Nil: this process does not
	// run the host.
	Codes     func() []PairingCode
	Approving func(ctx context.Context, code string) error

	Schedule *tasks.Tasks // nil: this process does not run the host

	// Stopping is Control's StopAssistant. Nil: this process does not run the host.
	Stopping func(folder string) (Stopped, error)

	Linker Linker // nil: this process does not run the host

	// SignIn returns an address of the operator's page. Nil: the host serves none.
	SignIn func() string

	Quota func() Quota              // of each group; nil: unknown
	Inbox func(folder string) int64 // bytes of the files in the group's inbox; nil: unknown

	Floor func() int64 // bytes of free disk below which nothing is accepted; nil: unknown

	// Troubles counts turns in trouble by cause, and Refusals refused requests by code, both
	// since the host's start; nil: unknown.
	Troubles, Refusals func() map[string]int64

	// Ahead is how far this machine's clock is ahead of the platforms'; ok is false if none
	// has told the time lately. Nil: unknown.
	Ahead func() (ahead time.Duration, ok bool)

	// Told counts the messages that could only be told in words; nil: unknown.
	Told func() []Told

	// Strangers are the group chats without a group that called; Missing are the shared
	// directories that are gone; Lost are the groups that the host has served and its file
	// lacks; Asked is what calls of models were refused for lately. Nil: unknown.
	Strangers func() []Stranger
	// Stuck is what the queue of the group with that folder waits for; nil: unknown.
	Stuck   func(folder string) (ipc.Stuck, bool)
	Missing func() []Gone
	Lost    func() []string
	Asked   func() []Asked

	// Whole is which files of the state are no longer those that the host has opened; it
	// returns nil if they are. Nil: unknown.
	Whole func() error

	// Unapplied is why the last reload was refused; it returns nil if it was not. Nil: unknown.
	Unapplied func() *string

	// Notifying is Control's NotifyTest. Nil: this process does not run the host.
	Notifying func(context.Context) []Notified

	Door *remote.Server // nil: the host has none

	Recent *Recent // of the host's log; nil: this process does not run the host

	// Deciding is Control's Decide.
	Deciding func(ctx context.Context, id string, yes bool) error

	// Offer accepts an operator's file into the outbox.
	Offer func(context.Context, Send) (outbox.Delivery, error)
}

// Desk is the Control of the process that has the outbox open, or of a command
// that only reads.
type Desk struct {
	DeskOptions
	health checkup
}

var _ Control = (*Desk)(nil)

// NewDesk returns a Desk. The caller owns everything in o.
func NewDesk(o DeskOptions) *Desk { return &Desk{DeskOptions: o} }

// List returns the matching items, oldest first. If there are more than the
// limit, it returns the newest of them, or the oldest if f says so.
func (d *Desk) List(ctx context.Context, f Filter) ([]Item, error) {
	limit := f.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	items := []Item{}
	err := d.deliveries(ctx, f, limit, func(delivery outbox.Delivery) {
		items = append(items, itemOf(delivery, false))
	})
	if err != nil {
		return nil, err
	}
	if f.Failed {
		requests, err := d.requests(f.Group)
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
func (d *Desk) records() interface {
	List(context.Context, outbox.Filter) ([]outbox.Delivery, error)
	Get(ctx context.Context, name string) (outbox.Delivery, error)
} {
	switch {
	case d.Outbox != nil:
		return d.Outbox
	case d.Records != nil:
		return d.Records
	}
	return nil
}

// page is how many deliveries are read from the outbox at a time.
const page = 500

// deliveries calls each for up to limit deliveries, newest first, or oldest.
func (d *Desk) deliveries(ctx context.Context, f Filter, limit int, each func(outbox.Delivery)) error {
	records := d.records()
	if records == nil {
		return nil
	}
	query := outbox.Filter{Folder: f.Group, State: outbox.FilterOpen, Oldest: f.Oldest}
	switch {
	case f.Failed:
		query.State = outbox.FilterFailed
	case f.Waiting:
		query.State = outbox.FilterWaiting
	case f.Moving:
		query.State = outbox.FilterMoving
	case f.All:
		query.State = outbox.FilterAll
	}
	for limit > 0 {
		query.Limit = min(limit, page)
		found, err := records.List(ctx, query)
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
func (d *Desk) Show(ctx context.Context, id string) (item Item, err error) {
	err = d.locate(id, func() error {
		item, err = d.request(id)
		return err
	}, func() error {
		delivery, err := d.records().Get(ctx, id)
		item = itemOf(delivery, true)
		return ofOutbox(id, err)
	})
	if err != nil {
		return Item{}, err
	}
	return item, nil
}

// Decide answers an approval.
func (d *Desk) Decide(ctx context.Context, id string, yes bool) error {
	return ofOutbox(id, d.Deciding(ctx, id, yes))
}

// Send accepts a file.
func (d *Desk) Send(ctx context.Context, s Send) (Item, error) {
	if !slices.ContainsFunc(d.configured(), func(g groups.Group) bool { return g.Folder == s.Group }) {
		return Item{}, &refusal.Error{Code: CodeNotFound, Message: fmt.Sprintf("no group has the folder %q", s.Group), Hint: "see: longshore status"}
	}
	delivery, err := d.Offer(ctx, s)
	if err != nil {
		return Item{}, err
	}
	if kept, err := d.Outbox.Get(ctx, delivery.Key); err == nil {
		delivery = kept // with its states and ids
	}
	return itemOf(delivery, true), nil
}

// Chats asks the channel for the chats of its account.
func (d *Desk) Chats(ctx context.Context, channelName string) ([]channel.Chat, error) {
	c, err := d.channel(channelName)
	if err != nil {
		return nil, err
	}
	if l, ok := c.(channel.Lister); ok {
		return l.Chats(ctx)
	}
	return nil, &refusal.Error{Code: CodeBadCall, Message: fmt.Sprintf("channel %s has no list of chats", channelName), Hint: "its chats are those of longshore.yaml"}
}

// Reload reads the configuration again; without a running host it returns ErrNoHost.
func (d *Desk) Reload(ctx context.Context, remove bool) (Reloaded, error) {
	if d.Reloading == nil {
		return Reloaded{}, ErrNoHost
	}
	return d.Reloading(ctx, remove)
}

// NotifyTest sends a test to each target; without a running host it returns ErrNoHost.
func (d *Desk) NotifyTest(ctx context.Context) ([]Notified, error) {
	if d.Notifying == nil {
		return nil, ErrNoHost
	}
	return d.Notifying(ctx), nil
}

// Requests lists the pairing codes that count; without a running host it returns
// ErrNoHost.
func (d *Desk) Requests(context.Context) ([]PairingCode, error) {
	if d.Codes == nil {
		return nil, ErrNoHost
	}
	return d.Codes(), nil
}

// Approve ends a pairing code; without a running host it returns ErrNoHost.
func (d *Desk) Approve(ctx context.Context, code string) error {
	if d.Approving == nil {
		return ErrNoHost
	}
	return d.Approving(ctx, code)
}

// Environment checks what assistants need; without a running host it returns ErrNoHost.
func (d *Desk) Environment(ctx context.Context, folder string) ([]channel.Finding, error) {
	if d.Surroundings == nil {
		return nil, ErrNoHost
	}
	return d.Surroundings(ctx, folder), nil
}

// Unpair unlinks the channel from its account.
func (d *Desk) Unpair(ctx context.Context, channelName string) error {
	c, err := d.channel(channelName)
	if err != nil {
		return err
	}
	if u, ok := c.(channel.Unpairer); ok {
		return u.Unpair(ctx)
	}
	return &refusal.Error{Code: CodeBadCall, Message: fmt.Sprintf("channel %s has no account", channelName), Hint: "there is nothing to unlink"}
}

func (d *Desk) channel(name string) (channel.Channel, error) {
	if c := channel.Named(d.Channels, name); c != nil {
		return c, nil
	}
	return nil, &refusal.Error{Code: CodeNotFound, Message: fmt.Sprintf("no channel %q is configured", name), Hint: "add it under channels: in longshore.yaml"}
}

// configured returns the groups of longshore.yaml.
func (d *Desk) configured() []groups.Group {
	if d.Groups == nil {
		return nil
	}
	return d.Groups()
}

// Status describes the host. If none runs, it fills in what the disk shows.
func (d *Desk) Status(ctx context.Context) (Status, error) {
	s := Status{
		Running: d.Running, Version: d.Version, Started: d.Started, State: d.Layout.State,
		Channels: []Channel{}, Assistants: []Assistant{}, Failures: []Item{}, Disk: diskOf(d.Layout.State),
		Faults: append([]Fault{}, d.Faults(ctx).Now...),
	}
	if d.Running {
		s.PID = os.Getpid()
		if d.Applied != nil {
			s.Applied = d.Applied()
		}
		for _, c := range d.Channels {
			one := channelOf(c)
			if d.Linker != nil {
				one.Scan = d.Linker.Scan(c.Name())
			}
			s.Channels = append(s.Channels, one)
		}
	}
	if d.Quota != nil {
		s.Quota = d.Quota()
	}
	if d.Floor != nil {
		s.Disk.Floor = d.Floor()
	}
	if d.Strangers != nil {
		s.Strangers = d.Strangers()
	}
	if d.Told != nil {
		s.Told = d.Told()
	}
	if d.Assistants != nil {
		s.Assistants = append(s.Assistants, d.Assistants()...)
	}
	var err error
	if s.Groups, err = d.groups(ctx); err != nil {
		return Status{}, err
	}
	err = d.deliveries(ctx, Filter{Failed: true}, RecentFailures, func(delivery outbox.Delivery) {
		s.Failures = append(s.Failures, itemOf(delivery, false))
	})
	if err != nil {
		return Status{}, err
	}
	s.Errors, _ = CountJSON(d.Layout.Errors(), ReasonSuffix) // a missing folder has no entries
	return s, nil
}

package operator_test

import (
	"context"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/host/turns"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// rooms are all parts of a running host, as a test says.
type rooms struct {
	groups    []groups.Group
	freeDisk  int64
	backup    operator.Backup
	ahead     time.Duration
	status    []turns.Status
	notCalled int
	turns     map[string]turns.Turns // empty: each was answered now
	told      []turns.Told
	spending  map[string]operator.Spending
	unknown   []operator.UnknownChat
	stuck     map[string]spool.Stuck
	inbox     map[string]int64
	accept    func(operator.Send) records.Delivery
	decide    func(ctx context.Context, id string, yes bool) error
}

// options are those of a Local with r.
func (r *rooms) options(l groups.Layout, all ...channel.Channel) operator.Options {
	return operator.Options{Layout: l, Groups: r, Channels: all, Road: r, Running: &operator.Running{
		Started: time.Now(), Host: r, Machine: r, Assistants: r, Models: r, Pairing: r, Queue: r, Linker: r, Notifier: r, Tasks: r, Recent: operator.NewRecent(),
	}}
}

func (r *rooms) Groups() []groups.Group { return r.groups }

func (r *rooms) Decide(ctx context.Context, id string, yes bool) error {
	return r.decide(ctx, id, yes)
}

func (r *rooms) SendFor(_ context.Context, s operator.Send) (records.Delivery, error) {
	return r.accept(s), nil
}

func (r *rooms) Applied() time.Time         { return time.Now() }
func (r *rooms) Quota() operator.Quota      { return operator.Quota{} }
func (r *rooms) FreeDisk() int64            { return r.freeDisk }
func (r *rooms) Refusals() map[string]int64 { return nil }
func (r *rooms) Reload(context.Context, bool) (operator.Reloaded, error) {
	return operator.Reloaded{}, nil
}

func (r *rooms) ClockAhead() (ahead time.Duration, ok bool) { return r.ahead, true }
func (r *rooms) Backup() operator.Backup {
	return operator.Backup{Last: r.backup.Last, Problem: r.backup.Problem, Known: true}
}

func (r *rooms) Status() []turns.Status { return r.status }
func (r *rooms) Ignored(string) turns.Ignored {
	return turns.Ignored{NotCalled: r.notCalled}
}

func (r *rooms) Turns(folder string) turns.Turns {
	if r.turns == nil {
		return turns.Turns{Done: time.Now()}
	}
	return r.turns[folder]
}
func (r *rooms) Troubles() map[cause.Cause]int64                        { return nil }
func (r *rooms) Told() []turns.Told                                     { return r.told }
func (r *rooms) StopGroup(folder string) (turns, waited int, err error) { return len(folder), 0, nil }
func (r *rooms) InboxUse(folder string) int64                           { return r.inbox[folder] }

func (r *rooms) Spending(_ context.Context, folder string) (operator.Spending, bool) {
	s, ok := r.spending[folder]
	return s, ok
}

func (r *rooms) Codes() []operator.PairingCode                { return nil }
func (r *rooms) ApprovePairing(context.Context, string) error { return nil }
func (r *rooms) UnknownChats() []operator.UnknownChat         { return r.unknown }

func (r *rooms) Stuck(folder string) (spool.Stuck, bool) {
	s, ok := r.stuck[folder]
	return s, ok
}

func (r *rooms) Scan(string) string { return "" }
func (r *rooms) Link(string) (operator.Linking, error) {
	return operator.Linking{}, nil
}
func (r *rooms) Test(context.Context) []operator.Notified { return nil }

func (r *rooms) List(context.Context, string) ([]tasks.Task, error) { return nil, nil }
func (r *rooms) Operate(context.Context, string, string) (tasks.Answer, error) {
	return tasks.Answer{}, nil
}

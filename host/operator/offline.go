package operator

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/longshore-bridge/longshore/host/tasks"
)

// Offline is the Control of an installation whose host does not run. Queries create and
// change nothing. Retry, Drop, Decide and Send open the outbox for one action; only Send
// makes an outbox that does not exist.
type Offline struct {
	*Local
	at    Installation
	state io.Closer // that the records are of

	once   sync.Once
	closed error // what closing them returned
}

// Installation is what an Offline acts on.
type Installation interface {
	// Act calls do with a Local that has the outbox open, and closes that.
	Act(ctx context.Context, do func(*Local) error) error
	// StoredTasks reads the tasks of a group, or of all.
	StoredTasks(ctx context.Context, group string) ([]tasks.Task, error)
}

// NewOffline returns an Offline. It closes o.Records and the state that they are of at the
// first action, or in Leave.
func NewOffline(o Options, state io.Closer, at Installation) *Offline {
	return &Offline{Local: NewLocal(o), state: state, at: at}
}

// Leave closes the records and their state.
func (o *Offline) Leave() error {
	o.once.Do(func() {
		if o.Records != nil {
			o.closed = errors.Join(o.Records.Close(), o.state.Close())
		}
	})
	return o.closed
}

// act opens the outbox for one action, if anything was ever accepted.
func (o *Offline) act(ctx context.Context, do func(*Local) error) error {
	if o.Records == nil {
		return do(o.Local)
	}
	return o.open(ctx, do)
}

func (o *Offline) open(ctx context.Context, do func(*Local) error) error {
	if err := o.Leave(); err != nil {
		return err
	}
	return o.at.Act(ctx, do)
}

// Send implements Control.
func (o *Offline) Send(ctx context.Context, s Send) (item Item, err error) {
	err = o.open(ctx, func(l *Local) error {
		item, err = l.Send(ctx, s)
		return err
	})
	return item, err
}

// Tasks implements Control.
func (o *Offline) Tasks(ctx context.Context, group string) ([]tasks.Task, error) {
	return o.at.StoredTasks(ctx, group)
}

// Retry implements Control.
func (o *Offline) Retry(ctx context.Context, id string) error {
	return o.act(ctx, func(l *Local) error { return l.Retry(ctx, id) })
}

// Drop implements Control.
func (o *Offline) Drop(ctx context.Context, id string) error {
	return o.act(ctx, func(l *Local) error { return l.Drop(ctx, id) })
}

// Decide implements Control.
func (o *Offline) Decide(ctx context.Context, id string, yes bool) error {
	return o.act(ctx, func(l *Local) error { return l.Decide(ctx, id, yes) })
}

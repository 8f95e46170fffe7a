package outbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/outbox/changes"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// Outbox keeps deliveries and sends them. All methods but Close may be called
// at any time and from several goroutines, whether or not Run works.
//
// # Goroutines
//
// Run owns them all: the dispatcher, which chooses the lanes that may send; one
// goroutine for each attempt; and the recorder of outcomes.
//
// # Locks
//
// There are two, taken in this order:
//
//  1. The commit, see [state.DB.Do]. Whoever commits, commits for all that wait,
//     and then runs what has to follow each change, in the order of the commits.
//     The commit guards early.
//  2. mu guards everything else that changes: lanes, items, outcomes, holds,
//     quotas. It is held for work in memory only: whoever holds mu neither
//     commits nor reads a record nor calls a channel. So a slow disk or channel
//     never keeps anybody from looking.
//
// A change in memory that follows a record is therefore made in the commit,
// under mu: so memory has what the disk has, in the order in which the disk was
// changed. Only attempts run ahead of the disk: a lane goes on before an outcome is
// recorded, by at most pipeline outcomes, and a mark of doubt is in memory first.
type Outbox struct {
	opts     Options
	state    *state.DB
	reader   *records.Reader
	checking chan struct{} // one token while Check works
	wake     chan struct{} // of capacity one: the dispatcher has to look again
	toRecord chan struct{} // of capacity one: there are outcomes to record
	counters counters

	early earlyReceipts // the commit guards it

	mu       sync.Mutex
	usage    map[string]records.Usage // by group
	lines    map[string]*line
	lanes    map[groups.Address]*lane
	live     map[int64]*item // deliveries in memory: in a lane, or not handed out by NextChanges yet
	waits    waitHeap
	buffered int       // deliveries in the lanes' memory
	outcomes []outcome // to be recorded
	changes  changes.List
	limiters map[string]*rate.Limiter // of the groups' attempts
	runs     bool                     // Run works

	asking  chan struct{}    // see Asking
	answers map[string]int64 // to approvals, since Open
}

type counters struct {
	sent, failed, uncertain, attempts atomic.Int64
}

// Open opens the outbox of a state, and fails the parts whose blob the state misses with
// lost_bytes. A state has one outbox. Open sends nothing; Run does.
func Open(ctx context.Context, opts Options) (_ *Outbox, err error) {
	o := &Outbox{
		opts:     opts.withDefaults(),
		state:    opts.State,
		checking: make(chan struct{}, 1),
		wake:     make(chan struct{}, 1),
		toRecord: make(chan struct{}, 1),
		usage:    map[string]records.Usage{},
		lines:    map[string]*line{},
		lanes:    map[groups.Address]*lane{},
		live:     map[int64]*item{},
		limiters: map[string]*rate.Limiter{},
		changes:  changes.NewList(),
		answers:  map[string]int64{records.AnswerYes: 0, records.AnswerNo: 0, records.AnswerNone: 0, records.AnswerLost: 0},
		asking:   make(chan struct{}, 1),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.Close())
		}
	}()
	if o.reader, err = records.NewReader(ctx, o.state.DB.DB); err != nil {
		return nil, err
	}
	for _, ch := range o.opts.Channels {
		o.line(ch.Name()).held = ch
	}
	if err := o.recover(ctx); err != nil {
		return nil, fmt.Errorf("open the outbox: %w", err)
	}
	return o, nil
}

// Run sends deliveries until ctx is done. It returns once the attempts in flight have
// ended and their outcomes are recorded, or the disk has refused them. After the next
// start, an attempt that was cut off, or whose outcome is not recorded, is repeated or
// asked about under the same message id.
func (o *Outbox) Run(ctx context.Context) error {
	o.reporting(true)
	defer o.reporting(false)
	d := &dispatcher{o: o, down: map[*line]bool{}}
	recorded, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(recorded)
		o.recordOutcomes(stop)
	}()
	o.poke()
	d.wg.Go(func() { o.sweep(ctx) })
	d.loop(ctx)
	d.wg.Wait()
	close(stop)
	<-recorded
	return nil
}

// Close closes the outbox, and not the state. Run must have returned.
func (o *Outbox) Close() error {
	o.checking <- struct{}{} // a Check whose caller has stopped waiting
	if o.reader == nil {
		return nil
	}
	return o.reader.Close()
}

// recover restores the state that the earlier process left. It counts deliveries and reads
// none.
func (o *Outbox) recover(ctx context.Context) error {
	err := o.reader.Holds(ctx, func(name string, total time.Duration, since time.Time) {
		o.line(name).hold = hold{total: total, since: since}
	})
	if err == nil {
		err = o.forgetLost(ctx)
	}
	if err == nil {
		err = o.reader.Usage(ctx, o.use)
	}
	if err == nil { // a lane for each chat with an open delivery
		err = o.reader.OpenChats(ctx, func(chat groups.Address, folder string, open int) {
			ln := o.lane(chat, folder)
			ln.count, ln.recovered = open, mostUnrecorded
			o.schedule(ln)
		})
	}
	return err
}

// forgetLost fails the open parts whose blob is missing, and ends what the process before had
// begun to end.
func (o *Outbox) forgetLost(ctx context.Context) error {
	ended, err := o.reader.EndedLinks(ctx)
	if err != nil {
		return err
	}
	if len(ended) > 0 {
		if err := o.state.Blobs.Remove(ended...); err != nil {
			return err
		}
		if err := o.forgetEnded(ctx, ended); err != nil {
			return err
		}
	}
	if len(o.state.Missing) == 0 {
		return nil
	}
	var lost int64
	return o.state.Do(ctx, func(t *state.Tx) (err error) {
		lost, err = records.LoseBytes(t, o.state.Missing, time.Now())
		return err
	}, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.answers[records.AnswerLost] += lost
	})
}

// poke wakes the dispatcher. It never blocks.
func (o *Outbox) poke() { wake.Up(o.wake) }

// line returns the line of a channel. The caller holds mu, or is Open.
func (o *Outbox) line(name string) *line {
	l := o.lines[name]
	if l == nil {
		l = &line{name: name, groups: map[string]*backlog{}}
		o.lines[name] = l
	}
	return l
}

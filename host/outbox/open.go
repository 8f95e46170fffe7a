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
	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/state"
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
	reader   *Reader
	checking chan struct{} // one token while Check works
	wake     chan struct{} // of capacity one: the dispatcher has to look again
	toRecord chan struct{} // of capacity one: there are outcomes to record
	counters counters

	early earlyReceipts // the commit guards it

	mu       sync.Mutex
	usage    map[string]usage // by group
	lines    map[string]*line
	lanes    map[groups.Address]*lane
	live     map[int64]*item // deliveries in memory: in a lane, or not handed out by Next yet
	waits    waitHeap
	buffered int       // deliveries in the lanes' memory
	outcomes []outcome // to be recorded
	changes  changeList
	limiters map[string]*rate.Limiter // of the groups' attempts
	runs     bool                     // Run works

	questions map[int64]*asked // that take answers
	asking    chan struct{}    // holds a value after a new one
	approving chan struct{}    // holds a value after a new approval, or a late answer
	answers   map[string]int64 // to approvals, since Open
}

type counters struct {
	sent, failed, uncertain, attempts atomic.Int64
}

// Open opens the outbox of a state, and fails the parts whose blob the state misses with
// lost_bytes. A state has one outbox. Open sends nothing; Run does.
func Open(ctx context.Context, opts Options) (_ *Outbox, err error) {
	o := &Outbox{
		opts:      opts.withDefaults(),
		state:     opts.State,
		checking:  make(chan struct{}, 1),
		wake:      make(chan struct{}, 1),
		toRecord:  make(chan struct{}, 1),
		usage:     map[string]usage{},
		lines:     map[string]*line{},
		lanes:     map[groups.Address]*lane{},
		live:      map[int64]*item{},
		limiters:  map[string]*rate.Limiter{},
		changes:   newChangeList(),
		answers:   map[string]int64{answerYes: 0, answerNo: 0, answerNone: 0, answerLost: 0},
		questions: map[int64]*asked{}, asking: make(chan struct{}, 1),
		approving: make(chan struct{}, 1),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.Close())
		}
	}()
	if o.reader, err = NewReader(ctx, o.state.DB.DB); err != nil {
		return nil, err
	}
	for _, ch := range o.opts.Channels {
		o.line(ch.Name()).ch = ch
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
	d.wg.Go(func() { o.endQuestions(ctx) })
	d.wg.Go(func() { o.endApprovals(ctx) })
	o.poke()
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
	if err := o.recoverHolds(ctx); err != nil {
		return ofDatabase("read holds", err)
	}
	if err := o.forgetLost(ctx); err != nil {
		return err
	}
	if err := o.recoverUsage(ctx); err != nil {
		return ofDatabase("count deliveries", err)
	}
	if err := o.recoverLanes(ctx); err != nil {
		return ofDatabase("count deliveries", err)
	}
	return ofDatabase("read questions", o.recoverQuestions(ctx))
}

func (o *Outbox) recoverHolds(ctx context.Context) error {
	rows, err := o.state.QueryContext(ctx, `SELECT channel, total, since FROM hold`)
	return each(rows, err, func() error {
		var name string
		var total, since int64
		if err := rows.Scan(&name, &total, &since); err != nil {
			return err
		}
		o.line(name).hold = hold{total: time.Duration(total), since: fromNano(since)}
		return nil
	})
}

// forgetLost fails the open parts whose blob is missing, and ends what the process before had
// begun to end.
func (o *Outbox) forgetLost(ctx context.Context) error {
	ended, err := scanNames(o.state.QueryContext(ctx, `SELECT blob FROM link WHERE ended = 1`))
	if err != nil {
		return ofDatabase("read links", err)
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
	return o.state.Do(ctx, func(t *state.Tx) error {
		lost = 0
		for _, name := range o.state.Missing {
			if err := failLost(t, name, time.Now(), &lost); err != nil {
				return err
			}
		}
		return nil
	}, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.answers[answerLost] += lost
	})
}

// failLost fails the part of a missing blob, and deletes the part's small files. It adds the
// approvals that have nothing left to wait for to lost.
func failLost(t *state.Tx, name string, now time.Time, lost *int64) error {
	others, err := scanNames(t.Query(`SELECT blob FROM part WHERE blob <> '' AND blob LIKE '%' || ? || '%'`, name))
	if err == nil {
		err = blob.Delete(t, others...)
	}
	if err == nil {
		err = loseApproval(t, name, now, lost)
	}
	if err == nil {
		_, err = t.Exec(`UPDATE delivery SET open = open - 1, bad = bad + 1, changed = ? WHERE id IN
			(SELECT delivery FROM part WHERE blob <> '' AND blob LIKE '%' || ? || '%' AND state IN ('queued', 'sending'))`, nano(now), name)
	}
	if err == nil {
		_, err = t.Exec(`UPDATE part SET state = 'failed', code = ?, message = ?, hint = ?
			WHERE blob <> '' AND blob LIKE '%' || ? || '%' AND state IN ('queued', 'sending')`, codeLostBytes, lostMessage, lostHint, name)
	}
	if err == nil {
		_, err = t.Exec(`UPDATE part SET blob = '' WHERE blob <> '' AND blob LIKE '%' || ? || '%'`, name)
	}
	if err == nil {
		_, err = t.Exec(`DELETE FROM link WHERE blob = ?`, name)
	}
	return ofDatabase("record a lost file", err)
}

const (
	lostMessage = "the host lost the file before it was sent"
	lostHint    = "send it again"
)

func (o *Outbox) recoverUsage(ctx context.Context) error {
	// The sums of folders are made here: grouped by folder, SQLite would read every delivery.
	rows, err := o.state.QueryContext(ctx, `SELECT d.folder, count(*), sum(p.size), 0, 0, 0
		FROM delivery d JOIN part p ON p.delivery = d.id
		WHERE d.open > 0 AND p.state IN `+openStates+` GROUP BY d.channel, d.chat, d.folder
		UNION ALL SELECT d.folder, 0, 0, 0, 1, p.size
		FROM approval a JOIN delivery d ON d.id = a.delivery JOIN part p ON p.delivery = d.id
		WHERE a.answer = ''
		UNION ALL SELECT d.folder, 0, 0, p.size, 0, 0
		FROM part p JOIN delivery d ON d.id = p.delivery
		WHERE p.blob <> '' AND p.state NOT IN `+unendedStates)
	return each(rows, err, func() error {
		var folder string
		var u usage
		if err := rows.Scan(&folder, &u.parts, &u.bytes, &u.retained, &u.waiting, &u.waitingBytes); err != nil {
			return err
		}
		o.use(folder, u)
		return nil
	})
}

// recoverLanes makes a lane for each chat with an open delivery.
func (o *Outbox) recoverLanes(ctx context.Context) error {
	rows, err := o.state.QueryContext(ctx, `SELECT channel, chat, count(*), min(folder)
		FROM delivery WHERE open > 0 GROUP BY channel, chat`)
	return each(rows, err, func() error {
		var name, chat, folder string
		var count int
		if err := rows.Scan(&name, &chat, &count, &folder); err != nil {
			return err
		}
		ln := o.lane(groups.Address{Channel: name, JID: groups.JID(chat)}, folder)
		ln.count, ln.recovered = count, mostUnrecorded
		o.schedule(ln)
		return nil
	})
}

// poke wakes the dispatcher. It never blocks.
func (o *Outbox) poke() { signal(o.wake) }

// signal puts a value into a channel of capacity one, unless there is one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// line returns the line of a channel. The caller holds mu, or is Open.
func (o *Outbox) line(name string) *line {
	l := o.lines[name]
	if l == nil {
		l = &line{name: name, groups: map[string]*backlog{}}
		o.lines[name] = l
	}
	return l
}

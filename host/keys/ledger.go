package keys

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
)

// A slot is a quarter of an hour: every time zone's day begins with one.
const (
	slotTime = 15 * time.Minute
	keepTime = 70 * 24 * time.Hour // a month, and the one before
)

// Ledger is what the groups' calls have used, in the state. A call's reservation is durable
// before the call is made. Its methods may be called from several goroutines.
type Ledger struct {
	state *state.DB

	mu    sync.Mutex
	since map[string]Used // by folder
	owed  []settlement    // that the disk has not taken yet
}

// Used is what a group's calls have used since the host's start.
type Used struct {
	Usage
	Cost  Nanos
	Calls int64
}

// Spent is a number of tokens, and what they cost.
type Spent struct {
	Tokens int64
	Cost   Nanos
}

// addSpent adds to what a slot has, for SQL.
const addSpent = ` ON CONFLICT (folder, slot) DO UPDATE SET
	tokens = spent.tokens + excluded.tokens, nanos = spent.nanos + excluded.nanos, calls = spent.calls + excluded.calls`

// OpenLedger opens the ledger. Reservations that a killed host has left count as used in
// full: the service may have charged for them, and nobody knows how much.
func OpenLedger(ctx context.Context, db *state.DB) (*Ledger, error) {
	l, oldest := &Ledger{state: db, since: map[string]Used{}}, slotOf(time.Now().Add(-keepTime))
	var old int
	err := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM (SELECT slot FROM held UNION ALL SELECT slot FROM spent WHERE slot < ?) AS old`, oldest).Scan(&old)
	if err == nil && old == 0 {
		return l, nil // a start must not need the disk for nothing
	}
	if err != nil {
		return nil, fmt.Errorf("look for calls of an earlier host: %w", store.Words(err))
	}
	err = db.Do(ctx, func(t *state.Tx) error {
		err := t.Exec(`INSERT INTO spent (folder, slot, tokens, nanos, calls)
			SELECT folder, slot, SUM(tokens), SUM(nanos), COUNT(*) FROM held WHERE true GROUP BY folder, slot` + addSpent)
		if err == nil {
			err = t.Exec(`DELETE FROM held`)
		}
		if err == nil {
			err = t.Exec(`DELETE FROM spent WHERE slot < ?`, oldest)
		}
		return err
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("settle the calls of an earlier host: %w", store.Words(err))
	}
	return l, nil
}

// Close settles what is left to settle. The state stays open.
func (l *Ledger) Close() {
	_ = l.catchUp(context.Background()) // or the next host counts these calls in full
}

func slotOf(t time.Time) int64 { return t.Unix() / int64(slotTime/time.Second) }

// reservation is a call's, until it is settled.
type reservation struct {
	id     int64
	folder string
	slot   int64
	most   Spent
}

// settlement is what a call used, in the place of its reservation.
type settlement struct {
	reservation
	used Usage
	cost Nanos
}

// maxOwed bounds the settlements that wait for the disk.
const maxOwed = 1000

var errNotReserved = errors.New("no such reservation")

// reserve notes that a call will use at most so much. The error is an *overBudget if
// the budget has not so much left.
func (l *Ledger) reserve(ctx context.Context, folder string, most Spent, b Budget, now time.Time) (r reservation, err error) {
	_ = l.catchUp(ctx) // if the disk still takes nothing, the rest fails too
	r = reservation{folder: folder, slot: slotOf(now), most: most}
	err = l.state.Do(ctx, func(t *state.Tx) error {
		if b.Limited() {
			s := b.standing(now)
			if err := s.read(t.Query(readStanding, s.args(folder)...)); err != nil {
				return err
			}
			if err := s.admit(b, most); err != nil {
				return err
			}
		}
		rows, err := t.Query(`INSERT INTO held (folder, slot, tokens, nanos) VALUES (?, ?, ?, ?) RETURNING id`, folder, r.slot, most.Tokens, int64(most.Cost))
		return one(rows, err, &r.id)
	}, nil)
	return r, store.Words(err)
}

// settle puts what a call used in the place of its reservation. If the disk does not take
// that, the next reserve or settle of any group tries again.
func (l *Ledger) settle(ctx context.Context, r reservation, used Usage, cost Nanos) error {
	_ = l.catchUp(ctx)
	one := settlement{r, used, cost}
	err := store.Words(l.state.Do(ctx, one.write, nil))
	switch {
	case err == nil:
		l.count(one)
	case !errors.Is(err, errNotReserved):
		l.owe(one)
	}
	return err
}

// catchUp settles the calls whose settlement the disk did not take before.
func (l *Ledger) catchUp(ctx context.Context) error {
	l.mu.Lock()
	owed := l.owed
	l.owed = nil
	l.mu.Unlock()
	if len(owed) == 0 {
		return nil
	}
	err := l.state.Do(ctx, func(t *state.Tx) error {
		for _, one := range owed {
			if err := one.write(t); err != nil && !errors.Is(err, errNotReserved) {
				return err
			}
		}
		return nil
	}, nil)
	if err != nil {
		l.owe(owed...)
		return err
	}
	l.count(owed...)
	return nil
}

// owe keeps settlements for the next attempt, as far as there is room.
func (l *Ledger) owe(all ...settlement) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owed = append(l.owed, all[:min(len(all), max(maxOwed-len(l.owed), 0))]...)
}

// count adds what calls used to what was used since the start.
func (l *Ledger) count(all ...settlement) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range all {
		u := l.since[one.folder]
		u.Input, u.Cached, u.Written, u.Output = u.Input+one.used.Input, u.Cached+one.used.Cached, u.Written+one.used.Written, u.Output+one.used.Output
		u.Cost, u.Calls = u.Cost+one.cost, u.Calls+1
		l.since[one.folder] = u
	}
}

// write settles one call. The error is errNotReserved if it has no reservation.
func (s settlement) write(t *state.Tx) error {
	n, err := t.Changed(`DELETE FROM held WHERE id = ?`, s.id)
	if err != nil {
		return err
	}
	if n == 0 {
		return errNotReserved
	}
	if err = t.Exec(`INSERT INTO spent (folder, slot, tokens, nanos, calls) VALUES (?, ?, ?, ?, 1)`+addSpent, s.folder, s.slot, s.used.Total(), int64(s.cost)); err != nil {
		return err
	}
	err = t.Exec(`DELETE FROM spent WHERE folder = ? AND slot < ?`, s.folder, s.slot-int64(keepTime/slotTime))
	return err
}

// Used is what a group's calls have used since the host's start.
func (l *Ledger) Used(folder string) Used {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.since[folder]
}

// Standing returns how a group stands with its budget.
func (l *Ledger) Standing(ctx context.Context, folder string, b Budget, now time.Time) (Standing, error) {
	s := b.standing(now)
	if err := s.read(l.state.QueryContext(ctx, readStanding, s.args(folder)...)); err != nil {
		return s, fmt.Errorf("read what a group has used: %w", store.Words(err))
	}
	return s, nil
}

const readStanding = `SELECT s.tokens, s.nanos, h.tokens, h.nanos
	FROM (SELECT COALESCE(SUM(tokens), 0) AS tokens, COALESCE(SUM(nanos), 0) AS nanos FROM spent WHERE folder = ? AND slot >= ?) AS s
	CROSS JOIN (SELECT COALESCE(SUM(tokens), 0) AS tokens, COALESCE(SUM(nanos), 0) AS nanos FROM held WHERE folder = ?) AS h`

// standing is the period of a budget, of which nothing is read yet.
func (b Budget) standing(now time.Time) (s Standing) {
	s.Begins, s.Ends = b.period(now)
	return s
}

func (s *Standing) args(folder string) []any { return []any{folder, slotOf(s.Begins), folder} }

func (s *Standing) read(rows *sql.Rows, err error) error {
	return one(rows, err, &s.Spent.Tokens, &s.Spent.Cost, &s.Reserved.Tokens, &s.Reserved.Cost)
}

// one reads the one row of a query's result, and closes it.
func one(rows *sql.Rows, err error, into ...any) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
	}
	return rows.Err()
}

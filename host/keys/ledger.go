package keys

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/store"
)

// A slot is a quarter of an hour: every time zone's day begins with one.
const (
	slotTime = 15 * time.Minute
	keepTime = 70 * 24 * time.Hour // a month, and the one before
)

const schema = `
CREATE TABLE spent (
	folder TEXT NOT NULL, slot INTEGER NOT NULL, tokens INTEGER NOT NULL, nanos INTEGER NOT NULL, calls INTEGER NOT NULL,
	PRIMARY KEY (folder, slot)
) WITHOUT ROWID;
CREATE TABLE held (id INTEGER PRIMARY KEY AUTOINCREMENT, folder TEXT NOT NULL, slot INTEGER NOT NULL, tokens INTEGER NOT NULL, nanos INTEGER NOT NULL);
CREATE INDEX held_folder ON held (folder);`

// Store describes the ledger's store in dir.
func Store(dir string, home store.Home) store.Spec {
	return store.Spec{
		Name: "model-usage", Dir: dir, File: "usage.db", Lock: "lock", Home: home, Schema: schema,
		Pragmas: []string{"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)"}, TxLock: "immediate",
	}
}

// Ledger is what the groups' calls have used, on disk. A call's reservation is durable
// before the call is made. Its methods may be called from several goroutines.
type Ledger struct {
	db   *store.DB
	lock interface{ Close() error }

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

// OpenLedger opens the ledger. Reservations that a killed host has left count as used in
// full: the service may have charged for them, and nobody knows how much.
func OpenLedger(ctx context.Context, spec store.Spec) (_ *Ledger, err error) {
	lock, err := store.Lock(spec)
	if err != nil {
		return nil, err
	}
	l := &Ledger{lock: lock, since: map[string]Used{}}
	if l.db, err = store.Open(ctx, spec); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	l.db.SetMaxOpenConns(1) // transactions wait for each other here, not in SQLite
	err = l.do(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			INSERT INTO spent SELECT folder, slot, SUM(tokens), SUM(nanos), COUNT(*) FROM held WHERE true GROUP BY folder, slot
			ON CONFLICT DO UPDATE SET tokens = tokens + excluded.tokens, nanos = nanos + excluded.nanos, calls = calls + excluded.calls;
			DELETE FROM held`)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM spent WHERE slot < ?`, slotOf(time.Now().Add(-keepTime)))
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("settle the calls of an earlier host: %w", err), l.Close())
	}
	return l, nil
}

// Close closes the store.
func (l *Ledger) Close() error {
	var err error
	if l.db != nil {
		_ = l.catchUp(context.Background()) // or the next host counts these calls in full
		err = l.db.Close()
	}
	return errors.Join(err, l.lock.Close())
}

func (l *Ledger) do(ctx context.Context, run func(*sql.Tx) error) error {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return store.Words(err)
	}
	if err := run(tx); err != nil {
		return errors.Join(store.Words(err), tx.Rollback())
	}
	return store.Words(tx.Commit())
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
	err = l.do(ctx, func(tx *sql.Tx) error {
		if b.Limited() {
			s, err := standing(ctx, tx, folder, b, now)
			if err != nil {
				return err
			}
			if err := s.admit(b, most); err != nil {
				return err
			}
		}
		done, err := tx.ExecContext(ctx, `INSERT INTO held (folder, slot, tokens, nanos) VALUES (?, ?, ?, ?)`, folder, r.slot, most.Tokens, most.Cost)
		if err != nil {
			return err
		}
		r.id, err = done.LastInsertId()
		return err
	})
	return r, err
}

// settle puts what a call used in the place of its reservation. If the disk does not take
// that, the next reserve or settle of any group tries again.
func (l *Ledger) settle(ctx context.Context, r reservation, used Usage, cost Nanos) error {
	_ = l.catchUp(ctx)
	one := settlement{r, used, cost}
	err := l.do(ctx, func(tx *sql.Tx) error { return one.write(ctx, tx) })
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
	err := l.do(ctx, func(tx *sql.Tx) error {
		for _, one := range owed {
			if err := one.write(ctx, tx); err != nil && !errors.Is(err, errNotReserved) {
				return err
			}
		}
		return nil
	})
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
func (s settlement) write(ctx context.Context, tx *sql.Tx) error {
	done, err := tx.ExecContext(ctx, `DELETE FROM held WHERE id = ?`, s.id)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); n == 0 || err != nil {
		return errors.Join(errNotReserved, err)
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO spent VALUES (?, ?, ?, ?, 1)
		ON CONFLICT DO UPDATE SET tokens = tokens + excluded.tokens, nanos = nanos + excluded.nanos, calls = calls + 1`, s.folder, s.slot, s.used.Total(), s.cost)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM spent WHERE folder = ? AND slot < ?`, s.folder, s.slot-int64(keepTime/slotTime))
	return err
}

// Used is what a group's calls have used since the host's start.
func (l *Ledger) Used(folder string) Used {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.since[folder]
}

// Standing returns how a group stands with its budget.
func (l *Ledger) Standing(ctx context.Context, folder string, b Budget, now time.Time) (s Standing, err error) {
	err = l.do(ctx, func(tx *sql.Tx) error {
		s, err = standing(ctx, tx, folder, b, now)
		return err
	})
	if err != nil {
		return s, fmt.Errorf("read what a group has used: %w", err)
	}
	return s, nil
}

func standing(ctx context.Context, tx *sql.Tx, folder string, b Budget, now time.Time) (s Standing, err error) {
	from, until := b.period(now)
	s.Begins, s.Ends = from, until
	row := tx.QueryRowContext(ctx, `SELECT COALESCE(SUM(tokens), 0), COALESCE(SUM(nanos), 0) FROM spent WHERE folder = ? AND slot >= ?`, folder, slotOf(from))
	if err := row.Scan(&s.Spent.Tokens, &s.Spent.Cost); err != nil {
		return s, err
	}
	row = tx.QueryRowContext(ctx, `SELECT COALESCE(SUM(tokens), 0), COALESCE(SUM(nanos), 0) FROM held WHERE folder = ?`, folder)
	return s, row.Scan(&s.Reserved.Tokens, &s.Reserved.Cost)
}

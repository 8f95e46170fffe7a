package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/longshore-bridge/longshore/host/cluster/guard"
	"github.com/longshore-bridge/longshore/host/postgres"
)

// ErrLost means that this process owns no longer, or does not know whether it does. It must end at once
// and do nothing else.
var ErrLost = errors.New("the lease is lost")

const (
	// history is the server's timeline, which begins a name of its log:
	// https://www.postgresql.org/docs/current/functions-admin.html#FUNCTIONS-ADMIN-BACKUP
	history = `('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer`

	// safe says that no commit is acknowledged before a standby has it.
	safe = `(current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') IN ('on', 'remote_apply'))`
)

// Lease is a host's right to be the cluster's owner. It lasts until its Keep returns.
type Lease struct {
	postgres.Fence
	Before   int64 // the last owner's number; 0: there was none
	host     *Host
	deadline atomic.Int64 // by guard.Now: when the owner stops by its own clock
	serves   atomic.Bool
	asked    chan struct{}
}

func (h *Host) leaseAfter(before int64) *Lease {
	return &Lease{Fence: postgres.Fence{Cluster: h.o.Cluster, Number: before + h.step}, Before: before, host: h, asked: make(chan struct{}, 1)}
}

// regain is for a take whose answer was lost, and that was made.
func (h *Host) regain(ctx context.Context) (*Lease, error) {
	l := h.tried
	if err := l.renew(ctx); err != nil {
		return nil, err
	}
	h.tried = nil
	return l, nil
}

// take takes a lease that is over. It returns nil if another host was faster.
func (h *Host) take(ctx context.Context, v View) (*Lease, error) {
	b, last := &pgx.Batch{}, postgres.Fence{Cluster: v.of, Number: v.Fence}
	if v.Owner != "" { // a frozen owner's session would keep the row until it thaws
		b.Queue(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database() AND pid <> pg_backend_pid()`, last.Session())
	}
	l := h.leaseAfter(v.Fence)
	began, taken := guard.Now(), false
	h.tried = l
	b.Queue(`INSERT INTO lease AS l (cluster, owner, fence, expires, since, config, history, safe) VALUES ($1, $2, $6, clock_timestamp() + make_interval(secs => $3), clock_timestamp(), $4, `+history+`, `+safe+`)
		ON CONFLICT (one) DO UPDATE SET cluster = excluded.cluster, owner = excluded.owner, fence = excluded.fence, expires = excluded.expires, since = excluded.since, heir = '', history = excluded.history, safe = excluded.safe
		WHERE l.fence = $5 AND l.expires <= clock_timestamp()`,
		h.o.Cluster, h.o.Name, h.o.Lease.Seconds(), h.configNow(), v.Fence, l.Number).Exec(func(tag pgconn.CommandTag) error {
		taken = tag.RowsAffected() > 0
		return nil
	})
	if err := h.conn.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("take the lease: %w", err)
	}
	if !taken { // an earlier try of this host may have been faster: its number stays tried
		return nil, nil
	}
	h.tried = nil
	if err := l.extend(began); err != nil {
		return nil, err
	}
	v.of = h.o.Cluster
	v.Owner, v.Owned, v.Fence, v.Since, v.Heir, v.Lag, v.Left = h.o.Name, true, l.Number, time.Now(), "", 0, h.o.Lease
	h.know(v)
	h.o.Log.Info("owns", "cluster", h.o.Cluster, "host", h.o.Name, "fence", l.Number)
	return l, nil
}

// extend moves the deadline, for a lease that was asked for at a time of guard.Now.
func (l *Lease) extend(asked time.Duration) error {
	at := asked + l.host.o.Lease - margin
	l.deadline.Store(int64(at))
	return l.host.o.Guard.Until(at)
}

// Host is the host that has the lease.
func (l *Lease) Host() *Host { return l.host }

// Left is how long this process may act as the owner, by its own clock.
func (l *Lease) Left() time.Duration { return time.Duration(l.deadline.Load()) - guard.Now() }

// Serves says that the owner has come up. From its next renewal on, its configuration is the one that a host
// must have to take over: not before, as one with which no host comes up would keep all others out.
func (l *Lease) Serves() { l.serves.Store(true) }

// Asked is closed when another host is to own: the owner ends its work and releases the lease.
func (l *Lease) Asked() <-chan struct{} { return l.asked }

// Keep renews the lease until ctx is done, which is no error, or it is lost: then the error is ErrLost.
// It never waits for the database once the lease is lost.
func (l *Lease) Keep(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	renewed := make(chan error, 1)
	go func() { renewed <- l.renewing(ctx) }()
	for {
		left := l.Left()
		if left <= 0 {
			return fmt.Errorf("%w: the database has not renewed it in time", ErrLost)
		}
		select {
		case err := <-renewed:
			return err
		case <-time.After(min(left, l.host.o.Lease/20)): // timers stand still while the machine sleeps
		}
	}
}

// renewing renews each third of the lease, and when a notification comes. After an error of the database it tries again.
func (l *Lease) renewing(ctx context.Context) error {
	failed := ""
	for ctx.Err() == nil {
		wait := l.host.o.Lease / 3
		err := l.renew(ctx)
		if errors.Is(err, ErrLost) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			if wait = l.host.o.Lease / 50; err.Error() != failed {
				l.host.o.Log.Warn("the lease was not renewed; it is tried again", "left", l.Left().Round(time.Millisecond), "error", err)
			}
			failed = err.Error()
			v := l.host.View()
			v.kept = l.host.away(err)
			l.host.know(v)
		}
		l.host.sleep(ctx, wait)
	}
	return nil
}

// renew needs one round trip: an owner whose way to the database is slow keeps its lease.
func (l *Lease) renew(ctx context.Context) error {
	h := l.host
	if err := h.connect(ctx); err != nil {
		return err
	}
	ctx, cancel := h.limited(ctx)
	defer cancel()
	began := guard.Now()
	v, b := View{Cluster: h.o.Cluster, lease: h.o.Lease}, &pgx.Batch{}
	b.Queue(`UPDATE lease SET expires = clock_timestamp() + make_interval(secs => $3), config = CASE WHEN $5 THEN $4 ELSE config END, heir = CASE WHEN heir = owner THEN '' ELSE heir END, history = `+history+`, safe = `+safe+`
		WHERE cluster = $1 AND fence = $2 AND expires > clock_timestamp() AND (history = `+history+` OR safe) RETURNING heir`,
		l.Cluster, l.Number, h.o.Lease.Seconds(), h.configNow(), l.serves.Load()).QueryRow(l.renewed)
	h.announce(b, new(bool))
	v.ask(b)
	if err := h.conn.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("renew the lease: %w", err)
	}
	if err := l.extend(began); err != nil {
		return errors.Join(ErrLost, err)
	}
	if v.Heir != "" && v.Heir != h.o.Name {
		select {
		case <-l.asked:
		default:
			h.o.Log.Info("gives the lease to another host", "heir", v.Heir)
			close(l.asked)
		}
	}
	h.know(v)
	return nil
}

// renewed reads whether the row is still this owner's.
func (l *Lease) renewed(row pgx.Row) error {
	var heir string
	err := row.Scan(&heir)
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("%w: another host owns, or a server was promoted that may lack commits", ErrLost)
	}
	return err
}

// Release gives the lease back, so that another host may own at once. Keep must have returned.
func (l *Lease) Release(ctx context.Context) error {
	h := l.host
	if err := h.connect(ctx); err != nil {
		return err
	}
	ctx, cancel := h.limited(ctx)
	defer cancel()
	_, err := h.conn.Exec(ctx, `WITH gone AS (UPDATE lease SET expires = clock_timestamp() WHERE cluster = $1 AND fence = $2 AND expires > clock_timestamp() RETURNING cluster)
		SELECT pg_notify($3, cluster) FROM gone`, l.Cluster, l.Number, wakes)
	if err != nil {
		return fmt.Errorf("release the lease: %w", err)
	}
	h.o.Log.Info("has released the lease", "cluster", l.Cluster, "fence", l.Number)
	return h.o.Guard.Until(0)
}

// Package cluster lets several hosts share one state: one owns, the others stand by. What decides is
// one row in PostgreSQL, the lease. It has a fence, a number that grows with each owner and that every
// commit checks, see longshore_fence in schema.sql. So a host that does not know that it is no longer
// the owner writes nothing. Its own clock and its guard keep it from sending, too.
package cluster

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/longshore-bridge/longshore/host/cluster/guard"
	"github.com/longshore-bridge/longshore/host/postgres"
)

//go:embed schema.sql
var schema string

// wakes is the channel of LISTEN on which a cluster's name says that its lease has changed.
const wakes = "longshore_lease"

// margin is how long before the end of the lease its owner stops by its own clock.
const margin = 500 * time.Millisecond

// Options say who a host is.
type Options struct {
	Database *postgres.Config // where the lease is
	Cluster  string           // its name
	Name     string           // of the host
	Instance string           // of the host's process, random; empty: a command, which never stands by
	Program  string           // its version
	Version  int64            // the newest version of the state's tables that it knows
	Config   string           // the hash of its configuration, see SetConfig
	Lease    time.Duration
	Guard    *guard.Child // nil: none
	Log      *slog.Logger
}

// Host is this host in its cluster. Its Wait, Take and leases are used by one goroutine; View and SetConfig
// by any.
type Host struct {
	o        Options
	conn     *pgx.Conn // nil: none
	prepared bool
	step     int64         // from the last owner's fence to this host's
	tried    *Lease        // the lease for which take has no answer; nil: none
	began    time.Duration // by guard.Now

	mu     sync.Mutex
	config string
	view   View
	known  time.Duration // by guard.Now: when the view was read
}

// mostSteps leaves room for 2³² owners.
const mostSteps = 1 << 31

// New returns a host that has not asked for the lease yet. Its step is random: if a standby of PostgreSQL
// is promoted that has not heard of the last owner, the next one must not get that owner's fence.
func New(o Options) *Host {
	return &Host{o: o, config: o.Config, step: 1 + rand.Int64N(mostSteps), began: guard.Now(), view: View{Host: o.Name}}
}

// Close says that the host leaves, and closes the connection. No other method may be under way.
func (h *Host) Close() error {
	if h.conn == nil || h.conn.IsClosed() {
		return nil
	}
	ctx, cancel := h.limited(context.Background())
	defer cancel()
	// Its name is free at once. If that fails, it is when the host has not been seen for a lease.
	_, _ = h.conn.Exec(ctx, `UPDATE cluster_host SET instance = '' WHERE cluster = $1 AND name = $2 AND instance = $3`, h.o.Cluster, h.o.Name, h.o.Instance)
	return h.conn.Close(ctx)
}

// SetConfig notes the hash of the configuration that is in force now.
func (h *Host) SetConfig(sum string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.config = sum
}

func (h *Host) configNow() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.config
}

// Limit is how long the database may take for a statement, by the lease of its owner. It is below a third of the
// lease, so that a renewal on the connection that there is may be tried twice.
func Limit(lease time.Duration) time.Duration { return lease / 4 }

// Lease is how long a lease lasts without a renewal.
func (h *Host) Lease() time.Duration { return h.o.Lease }

// limited bounds a few answers of the database. One statement ends before in the server: it would go on
// there for a caller that is gone.
func (h *Host) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, h.o.Lease/3)
}

// connect gives the host a connection, if it has none that works. It has as long as the answers that follow.
func (h *Host) connect(ctx context.Context) (err error) {
	if h.conn != nil && !h.conn.IsClosed() {
		return nil
	}
	ctx, cancel := h.limited(ctx)
	defer cancel()
	if h.conn, err = h.o.Database.Connect(ctx, Limit(h.o.Lease)); err != nil {
		return err
	}
	if err = h.begin(ctx); err != nil {
		_ = h.conn.Close(ctx) // else the next try would take it for one on which all is done
	}
	return err
}

// begin does what a new connection needs.
func (h *Host) begin(ctx context.Context) error {
	if !h.prepared {
		if err := Prepare(ctx, h.conn); err != nil {
			return err
		}
		h.prepared = true
	}
	if _, err := h.conn.Exec(ctx, "LISTEN "+wakes); err != nil {
		return fmt.Errorf("listen for the lease: %w", err)
	}
	return nil
}

// preparing keeps two hosts from making the tables at once; the number is any.
const preparing = 0x6c6f6e67

// Prepare makes the tables of the hosts and leases, and the function that commits call, if they are
// not there. What is there may be a newer owner's, and stays.
func Prepare(ctx context.Context, conn *pgx.Conn) error {
	there := false
	err := conn.QueryRow(ctx, "SELECT to_regclass('lease') IS NOT NULL AND to_regclass('cluster_host') IS NOT NULL AND to_regprocedure('longshore_fence(text, bigint)') IS NOT NULL").Scan(&there)
	if err != nil || there {
		return err
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", preparing); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, schema)
		return err
	})
	if err != nil {
		return fmt.Errorf("make the table of the lease: %w", err)
	}
	return nil
}

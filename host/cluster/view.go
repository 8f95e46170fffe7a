package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/longshore-bridge/longshore/internal/finding"
)

// View is what a host knows of its cluster. Times are the database's.
type View struct {
	Cluster string    `json:"cluster"` // empty: the host has not read it yet
	Host    string    `json:"host"`    // who looks
	Owner   string    `json:"owner"`   // of the lease, also of one that is over; empty: nobody has ever had it
	Owned   bool      `json:"owned"`   // the lease is not over
	Fence   int64     `json:"fence"`   // of the owner
	Since   time.Time `json:"since,omitzero"`
	Heir    string    `json:"heir,omitempty"`   // the host that is to own next
	Reason  string    `json:"reason,omitempty"` // why the host that looks stands by; empty: it does not
	Lag     float64   `json:"lag_seconds"`      // since the owner was last seen
	Hosts   []Member  `json:"hosts,omitempty"`

	Promoted bool `json:"promoted,omitempty"` // another server than the last owner's answers, and may lack its last commits

	Left    time.Duration `json:"-"` // of the lease; below 0: for how long it has been over
	Version int64         `json:"-"` // of the state's tables; 0: there are none
	Config  string        `json:"-"` // the hash of the configuration with which a host served last

	of    string          // the cluster of the owner
	lease time.Duration   // how long a lease lasts
	kept  finding.Finding // what keeps the host that looks from owning; zero: nothing
}

// Member is a host of a cluster.
type Member struct {
	Name    string    `json:"name"`
	Seen    time.Time `json:"seen"`
	Ago     float64   `json:"ago_seconds"` // since then
	Lives   bool      `json:"lives"`       // it runs, and was seen within a lease and a half
	Program string    `json:"version"`
	Same    bool      `json:"same_configuration"` // as the owner's
}

// Look reads a cluster, with its hosts. Nobody may have made its tables yet: then it has no owner and no hosts.
func Look(ctx context.Context, conn *pgx.Conn, cluster string, lease time.Duration) (View, error) {
	return look(ctx, conn, View{Cluster: cluster, lease: lease}, &pgx.Batch{})
}

// look is Look after other statements, which need no round trip of their own.
func look(ctx context.Context, conn *pgx.Conn, v View, after *pgx.Batch) (View, error) {
	b := &pgx.Batch{}
	var there, state bool
	after.Queue("SELECT to_regclass('lease') IS NOT NULL AND to_regclass('cluster_host') IS NOT NULL, to_regclass('longshore_store') IS NOT NULL").
		QueryRow(func(row pgx.Row) error { return row.Scan(&there, &state) })
	if err := conn.SendBatch(ctx, after).Close(); err != nil || !there {
		return v, err
	}
	v.ask(b)
	if state {
		b.Queue("SELECT version FROM longshore_store").QueryRow(func(row pgx.Row) error { return row.Scan(&v.Version) })
	}
	return v, conn.SendBatch(ctx, b).Close()
}

// ask adds the questions for the lease and for the cluster's hosts to a batch, which brings the answers.
func (v *View) ask(b *pgx.Batch) {
	b.Queue(`SELECT l.cluster, l.owner, l.fence, l.since, l.heir, l.config, NOT l.safe AND l.history <> ` + history + `, extract(epoch FROM l.expires - clock_timestamp())::float8,
		coalesce(extract(epoch FROM clock_timestamp() - h.seen), 0)::float8
		FROM lease l LEFT JOIN cluster_host h ON h.cluster = l.cluster AND h.name = l.owner`).QueryRow(func(row pgx.Row) error {
		var left float64
		err := row.Scan(&v.of, &v.Owner, &v.Fence, &v.Since, &v.Heir, &v.Config, &v.Promoted, &left, &v.Lag)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the lease: %w", err)
		}
		v.Left = time.Duration(left * float64(time.Second))
		v.Owned = v.Left > 0
		return nil
	})
	b.Queue(`SELECT name, seen, extract(epoch FROM clock_timestamp() - seen)::float8, instance <> '' AND seen > clock_timestamp() - make_interval(secs => $2), program, coalesce(config = (SELECT config FROM lease), FALSE)
		FROM cluster_host WHERE cluster = $1 ORDER BY name`, v.Cluster, 1.5*v.lease.Seconds()).Query(func(rows pgx.Rows) (err error) {
		v.Hosts, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (m Member, err error) {
			return m, row.Scan(&m.Name, &m.Seen, &m.Ago, &m.Lives, &m.Program, &m.Same)
		})
		if err != nil {
			return fmt.Errorf("read the cluster's hosts: %w", err)
		}
		return nil
	})
}

// Foreign is the name of another cluster that owns the state; empty: none does.
func (v View) Foreign() string {
	if v.Owned && v.of != v.Cluster {
		return v.of
	}
	return ""
}

// Standby reports whether the host that looked stands by. A nil View is of a host in no cluster.
func (v *View) Standby() bool { return v != nil && !(v.Owned && v.Owner == v.Host) }

// Who is the finding that says who owns.
func (v View) Who() finding.Finding {
	switch {
	case v.Cluster == "":
		return finding.Well("cluster", "it has not read yet who owns")
	case !v.Owned:
		return finding.Well("cluster", "no host owns now")
	}
	return finding.Well("cluster", v.Owner+" owns since "+v.Since.Format(time.RFC3339))
}

// ErrNoHeir means that a lease cannot be given to a host of that name.
var ErrNoHeir = errors.New("the cluster has no such host")

// Yield names the host that owns next. The present owner gives the lease back as soon as it reads
// that; one that is dead loses it at its end. The heir takes it even if its configuration is another
// than the last owner's. The error is ErrNoHeir if the cluster has no host of that name.
func Yield(ctx context.Context, conn *pgx.Conn, cluster, to string) error {
	tag, err := conn.Exec(ctx, `UPDATE lease SET heir = $2 WHERE EXISTS (SELECT 1 FROM cluster_host WHERE cluster = $1 AND name = $2)`, cluster, to)
	if err == nil && tag.RowsAffected() == 0 {
		return ErrNoHeir
	}
	if err == nil {
		_, err = conn.Exec(ctx, "SELECT pg_notify($1, $2)", wakes, cluster)
	}
	if err != nil {
		return fmt.Errorf("name the next owner: %w", err)
	}
	return nil
}

// Remove forgets a host that is gone, and reports whether the cluster had it. A host that runs comes back by itself.
func Remove(ctx context.Context, conn *pgx.Conn, cluster, name string) (bool, error) {
	tag, err := conn.Exec(ctx, `DELETE FROM cluster_host WHERE cluster = $1 AND name = $2`, cluster, name)
	if err != nil {
		return false, fmt.Errorf("forget the host: %w", err)
	}
	return tag.RowsAffected() > 0, nil
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/longshore-bridge/longshore/host/cluster/guard"
	"github.com/longshore-bridge/longshore/host/postgres"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// View returns what the host knew last. It stands by as long as Reason is not empty.
func (h *Host) View() View {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := h.view
	v.Left -= guard.Now() - h.known
	return v
}

// Kept returns what keeps the host from owning, as View has it.
func (h *Host) Kept() finding.Finding { return h.View().kept }

func (h *Host) know(v View) {
	v.Host, v.Reason = h.o.Name, v.kept.Cause
	h.mu.Lock()
	defer h.mu.Unlock()
	h.view, h.known = v, guard.Now()
}

// Wait stands by until the host may own, and takes the lease. Whatever keeps it from that is the Reason
// of View. The error is that of ctx, and without a lease alone.
func (h *Host) Wait(ctx context.Context) (*Lease, error) {
	for said := ""; ; {
		lease, err := h.Take(ctx)
		if lease != nil {
			return lease, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			v := h.View()
			v.kept = h.away(err)
			h.know(v)
		}
		if reason := h.View().Reason; reason != said {
			said = reason
			h.o.Log.Info("stands by", "cluster", h.o.Cluster, "host", h.o.Name, "reason", reason)
		}
		h.pause(ctx)
	}
}

// away is the finding of a database that keeps the lease from being taken or renewed.
func (h *Host) away(err error) finding.Finding {
	f := finding.Finding{Name: finding.ClusterDatabase, Part: "cluster", Severity: finding.Fault, Cause: "the lease can be neither taken nor renewed: " + err.Error(), Remedy: postgres.Remedy(err) + "; nothing has to be done here"}
	if p, ok := errors.AsType[*postgres.Problem](err); ok {
		f.Cause, f.Remedy = p.Message, p.Remedy
	}
	return f
}

// pause waits until the lease may be free, a notification or a poll. If nobody owns, the host tries again soon: the
// database failed, or the time of what keeps it out is over in a moment.
func (h *Host) pause(ctx context.Context) {
	wait := h.o.Lease / 20
	if left := h.View().Left; left > 0 {
		wait = min(h.o.Lease/4, left+10*time.Millisecond)
	}
	h.sleep(ctx, wait)
}

// sleep waits for a time, or for less if a notification comes.
func (h *Host) sleep(ctx context.Context, wait time.Duration) {
	if h.conn == nil || h.conn.IsClosed() {
		wake.Sleep(ctx, wait)
		return
	}
	short, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if _, err := h.conn.WaitForNotification(short); err != nil && short.Err() == nil {
		wake.Sleep(short, wait/10) // the connection is broken
	}
}

// Take takes the lease if the host may own now, in three round trips. nil without an error: it may not, and View
// has the Reason. The error is of the database.
func (h *Host) Take(ctx context.Context) (*Lease, error) {
	if err := h.connect(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := h.limited(ctx)
	defer cancel()
	alone, b := true, &pgx.Batch{}
	h.announce(b, &alone)
	v, err := look(ctx, h.conn, View{Cluster: h.o.Cluster, lease: h.o.Lease}, b)
	if err != nil {
		return nil, fmt.Errorf("announce the host: %w", err)
	}
	if v.Owned && h.tried != nil && v.Fence == h.tried.Number {
		return h.regain(ctx)
	}
	if v.kept = h.keptBy(v, alone); v.kept != (finding.Finding{}) {
		h.know(v)
		return nil, h.o.Guard.Until(0)
	}
	return h.take(ctx, v)
}

// announce says that this host is there, and whether it is alone. It changes nothing if another one bears its name.
func (h *Host) announce(b *pgx.Batch, alone *bool) {
	if h.o.Instance == "" {
		return
	}
	b.Queue(`INSERT INTO cluster_host AS c (cluster, name, instance, seen, program, version, config) VALUES ($1, $2, $3, clock_timestamp(), $4, $5, $6)
		ON CONFLICT (cluster, name) DO UPDATE SET instance = excluded.instance, seen = excluded.seen, program = excluded.program, version = excluded.version, config = excluded.config
		WHERE c.instance IN ('', excluded.instance) OR c.seen < clock_timestamp() - make_interval(secs => $7)`,
		h.o.Cluster, h.o.Name, h.o.Instance, h.o.Program, h.o.Version, h.configNow(), h.o.Lease.Seconds()).Exec(func(tag pgconn.CommandTag) error {
		*alone = tag.RowsAffected() > 0
		return nil
	})
}

// keptBy returns what keeps the host from taking the lease; the zero finding: nothing.
func (h *Host) keptBy(v View, alone bool) finding.Finding {
	kept := func(name string, s finding.Severity, cause, remedy string) finding.Finding {
		return finding.Finding{Name: name, Part: "cluster", Severity: s, Cause: cause, Remedy: remedy}
	}
	switch {
	case !alone && guard.Now()-h.began < h.o.Lease: // a host that was killed and is started again
		return kept(finding.OK, finding.Fine, fmt.Sprintf("a process of host %s, its last one or another, was seen within the last %v", h.o.Name, h.o.Lease), "")
	case !alone:
		return kept(finding.ClusterName, finding.Fault, fmt.Sprintf("another host of the cluster is called %s, or was within the last %v", h.o.Name, h.o.Lease), "give each host a name of its own: cluster.host")
	case v.Foreign() != "":
		return kept(finding.ClusterName, finding.Fault, fmt.Sprintf("the state is in use in the cluster %s, by %s; this host is in the cluster %s", v.of, v.Owner, h.o.Cluster),
			"write cluster: {name: "+v.of+"}, as on that host; to rename the cluster, stop all its hosts first")
	case v.Version > h.o.Version:
		return kept(finding.ClusterVersion, finding.Warning, "a newer longshore has brought the state up to date", "upgrade this host: until then it cannot take over")
	case v.Config != h.configNow() && v.Owner != "" && v.Owner != h.o.Name && v.Heir != h.o.Name:
		return kept(finding.ClusterConfig, finding.Warning, "the configuration of this host is another than that of "+v.Owner+": it does not take over",
			"make the files alike and reload both; or, if this one is right: longshore cluster yield --to "+h.o.Name)
	case v.Promoted && v.Heir != h.o.Name:
		return kept(finding.ClusterPromoted, finding.Fault, "a PostgreSQL server was promoted, and may lack what the last owner committed in the end: no synchronous standby was named",
			"if the old server is not to be had any more, take what there is: longshore cluster yield --to "+h.o.Name+"; what was sent lately may be sent again")
	case v.Owned:
		return kept(finding.OK, finding.Fine, v.Owner+" owns", "")
	case v.Heir != "" && v.Heir != h.o.Name && -v.Left < h.o.Lease:
		return kept(finding.OK, finding.Fine, v.Heir+" is to own next", "")
	}
	return finding.Finding{}
}

// Findings implements finding.Source.
func (h *Host) Findings(context.Context) (all []finding.Finding) {
	v := h.View()
	all = append(all, v.Who())
	if v.kept.Wrong() {
		all = append(all, v.kept)
	}
	for _, m := range v.Hosts {
		part := "host " + m.Name
		switch {
		case m.Name == h.o.Name:
		case m.Ago > 3*h.o.Lease.Seconds():
			all = append(all, finding.Finding{Name: finding.ClusterHost, Part: part, Severity: finding.Warning, Cause: "it was last seen at " + m.Seen.Format(time.RFC3339), Remedy: "start it; or, if it is gone for good: longshore cluster remove " + m.Name})
		case !m.Same && v.Owner == h.o.Name:
			all = append(all, finding.Finding{Name: finding.ClusterConfig, Part: part, Severity: finding.Warning, Cause: "its configuration is another than that of this host, which owns: it does not take over", Remedy: "make the files alike and reload both"})
		}
	}
	return all
}

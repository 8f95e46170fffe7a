package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/cluster"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/postgres"
)

func newCluster(e *env) *cobra.Command {
	list := terminal.Verb("list", "list the cluster's hosts, and say which one owns", func(cmd *cobra.Command, _ []string) error {
		return e.withCluster(cmd.Context(), func(ctx context.Context, c *pgx.Conn, v cluster.View) error {
			return e.Answer(v, func() error { return e.listCluster(v) })
		})
	})
	remove := terminal.Verb("remove HOST", "forget a host that is gone", func(cmd *cobra.Command, args []string) error {
		return e.withCluster(cmd.Context(), func(ctx context.Context, c *pgx.Conn, v cluster.View) error {
			return e.removeHost(ctx, c, v, args[0])
		})
	})
	remove.Long = "Forgets a host that is gone, so that nothing warns of it any more. One that is\nstarted again comes back by itself."
	return terminal.Family("cluster", "see which host owns, and change that", list, newClusterYield(e), remove)
}

func newClusterYield(e *env) *cobra.Command {
	var to string
	yield := terminal.Verb("yield", "give the cluster to another host", func(cmd *cobra.Command, _ []string) error {
		return e.withCluster(cmd.Context(), func(ctx context.Context, c *pgx.Conn, v cluster.View) error {
			return e.yield(ctx, c, v, to)
		})
	})
	yield.Long = `Gives the cluster to another host: the owner ends its work, and that host takes
over. It may be called on any host. Without --to, a host takes over that has the
owner's configuration. With --to, that host takes over even if its configuration is
another one, and also from an owner that is dead.`
	yield.Flags().StringVar(&to, "to", "", "the `host` that is to own")
	return yield
}

// databaseTime is how long the database has for a command.
const databaseTime = 10 * time.Second

// withCluster calls do with a connection to the cluster's database.
func (e *env) withCluster(ctx context.Context, do func(context.Context, *pgx.Conn, cluster.View) error) (err error) {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	if cfg.State.Postgres.FromFile == "" {
		return terminal.Hinted(errors.New("the state is on this machine: there is no cluster"), "see docs/cluster.md")
	}
	db, err := postgres.Read(cfg.State.Postgres.FromFile)
	if err != nil {
		return ofDatabase(err)
	}
	ctx, cancel := context.WithTimeout(ctx, databaseTime)
	defer cancel()
	c, err := db.Connect(ctx, databaseTime)
	if err != nil {
		return ofDatabase(err)
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	v, err := cluster.Look(ctx, c, clusterName(cfg), cfg.Cluster.Lease.Std())
	if err != nil {
		return err
	}
	if of := v.Foreign(); of != "" {
		return terminal.Hinted(fmt.Errorf("the state is in use in the cluster %s, by %s", of, v.Owner), "write cluster: {name: "+of+"}, as on that host")
	}
	return do(ctx, c, v)
}

func (e *env) listCluster(v cluster.View) error {
	return terminal.List(&e.Terminal, "the cluster has no hosts yet", []string{"HOST", "ROLE", "SINCE", "FENCE", "SEEN", "VERSION", "CONFIGURATION"}, v.Hosts, func(m cluster.Member) []string {
		role, since, fence := "stands by", "-", "-"
		if !m.Lives {
			role = "not seen"
		}
		if m.Name == v.Owner {
			if role = "was the last owner"; v.Owned {
				role = "owns"
			}
			since, fence = terminal.ClockText(v.Since), fmt.Sprint(v.Fence)
		}
		return []string{m.Name, role, since, fence, fmt.Sprintf("%.1f s ago", m.Ago), m.Program, sameText(m)}
	})
}

// yield names the next owner.
func (e *env) yield(ctx context.Context, c *pgx.Conn, v cluster.View, to string) error {
	for _, m := range v.Hosts {
		if to == "" && m.Name != v.Owner && m.Same && m.Lives {
			to = m.Name
		}
		if to == m.Name && !m.Lives && !v.Promoted {
			return terminal.Hinted(fmt.Errorf("%s does not run, and was last seen at %s", to, terminal.ClockText(m.Seen)), "start it first: longshore serve")
		}
	}
	if to == "" {
		return terminal.Hinted(errors.New("no other host with the owner's configuration stands by"), "see: longshore cluster list; --to takes one with another configuration")
	}
	if v.Owned && v.Owner == to {
		return terminal.Hinted(fmt.Errorf("%s owns already", to), "see: longshore cluster list")
	}
	err := cluster.Yield(ctx, c, v.Cluster, to)
	if errors.Is(err, cluster.ErrNoHeir) {
		return terminal.Hinted(fmt.Errorf("the cluster has no host %s, or none has ever owned it", to), "see: longshore cluster list")
	}
	if err != nil {
		return err
	}
	return e.Answer(map[string]string{"next": to}, func() error { e.Say("%s is to own next; see: %s", to, e.Command("cluster", "list")); return nil })
}

func (e *env) removeHost(ctx context.Context, c *pgx.Conn, v cluster.View, name string) error {
	if v.Owned && v.Owner == name {
		return terminal.Hinted(fmt.Errorf("%s owns", name), "give the cluster to another host first: longshore cluster yield")
	}
	there, err := cluster.Remove(ctx, c, v.Cluster, name)
	if err != nil {
		return err
	}
	if !there {
		return terminal.Hinted(fmt.Errorf("the cluster has no host %s", name), "see: longshore cluster list")
	}
	return e.Answer(struct{}{}, func() error { e.Say("%s is forgotten", name); return nil })
}

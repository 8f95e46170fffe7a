package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/longshore-bridge/longshore/host/cluster"
	"github.com/longshore-bridge/longshore/host/cluster/guard"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/postgres"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/service"
	"github.com/longshore-bridge/longshore/host/standby"
	"github.com/longshore-bridge/longshore/host/store"
)

// A state on PostgreSQL belongs to whoever has its lease. This file has what a process does for that.

// guarded runs serve as a child, until a signal ends it.
func (e *env) guarded(ctx context.Context, cfg *config.Config) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("start the host: %w", err)
	}
	log := newLog(e.Stderr, cfg.Log)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	defer notifyManager(ctx, service.NotifierOf(e.getenv, os.Getpid()), log, cfg.Layout())()
	g := guard.Guard{Program: program, Args: []string{"-c", e.Config, "serve"}, Env: os.Environ(), Stdin: e.Stdin, Stdout: e.Stdout, Stderr: e.Stderr, Log: log, Lost: terminal.ExitLost}
	code, err := g.Run(signals)
	if err == nil && code != 0 {
		return &terminal.Error{Code: max(code, terminal.ExitFault), Err: errors.New("the host's process has ended, see above")}
	}
	return err
}

// hostIn returns this host as one of its cluster. Without one, its state has a cluster of its own.
func (e *env) hostIn(cfg *config.Config, instance string, child *guard.Child, log *slog.Logger) (*cluster.Host, error) {
	db, err := postgres.Read(cfg.State.Postgres.FromFile)
	if err != nil {
		return nil, ofDatabase(err)
	}
	name, err := hostName(cfg)
	if err != nil {
		return nil, err
	}
	o := cluster.Options{
		Database: db, Cluster: clusterName(cfg), Name: name, Instance: instance, Program: readVersion(e.version).Version,
		Version: int64(serve.StateOf(cfg).Newest()), Config: cfg.Common(), Lease: cfg.Cluster.Lease.Std(), Guard: child, Log: log,
	}
	return cluster.New(o), nil
}

// hostName is this host's in its cluster.
func hostName(cfg *config.Config) (string, error) {
	name, err := os.Hostname()
	if name = cmp.Or(cfg.Cluster.Host, name); name == "" {
		return "", terminal.Hinted(fmt.Errorf("this machine has no name: %w", err), "write one into cluster.host")
	}
	return name, nil
}

func clusterName(cfg *config.Config) string { return cmp.Or(cfg.Cluster.Name, "default") }

// ofDatabase adds its remedy to an error of PostgreSQL.
func ofDatabase(err error) error {
	if p, ok := errors.AsType[*postgres.Problem](err); ok {
		return terminal.Hinted(errors.New(p.Message), p.Remedy)
	}
	return err
}

// serveShared runs the host when it owns its state on PostgreSQL. In a cluster it stands by before.
func (e *env) serveShared(ctx context.Context, cfg *config.Config, options serve.Options, heard <-chan os.Signal) (err error) {
	child, instance := guard.ChildOf(e.getenv), rand.Text()
	if child != nil {
		instance = child.Instance
		go func() {
			child.Orphaned()
			os.Exit(terminal.ExitLost)
		}()
	}
	host, err := e.hostIn(cfg, instance, child, options.Log)
	if err != nil {
		return err
	}
	lease, cfg, err := e.awaitLease(ctx, cfg, host, options, heard)
	if lease == nil {
		return errors.Join(err, host.Close())
	}
	t := begin(lease, options.Log)
	// At once: a start that fails before the queue is open must not look like the time of another machine.
	if _, err := serve.NoteTenure(cfg.Layout(), lease.Before, lease.Number); err != nil {
		return errors.Join(e.ofStart(ctx, cfg, err), t.end())
	}
	owning, end := context.WithCancel(ctx)
	defer end()
	go func() {
		select {
		case <-lease.Asked():
			end()
		case <-owning.Done():
		}
		if t.outlives(2 * cfg.Cluster.Lease.Std()) {
			options.Log.Error("the host does not end, and has to give the lease up: it ends at once")
			os.Exit(terminal.ExitLost)
		}
	}()
	options.Lease = lease
	err = errors.Join(e.runHost(owning, cfg, options, heard), t.end())
	switch {
	case err == nil && ctx.Err() == nil:
		err = errors.New("the lease is another host's now")
	case !postgres.Passing(err):
		return err
	}
	return &terminal.Error{Code: terminal.ExitLost, Err: err}
}

// awaitLease returns the lease and the configuration to own with; no lease if ctx is done. Outside a
// cluster a lease of another host is an error, unless it ends soon: then its host has died.
func (e *env) awaitLease(ctx context.Context, cfg *config.Config, host *cluster.Host, options serve.Options, heard <-chan os.Signal) (*cluster.Lease, *config.Config, error) {
	if cfg.Cluster.Name != "" {
		if err := cfg.Layout().Prepare(nil); err != nil { // the place of the control socket
			return nil, nil, e.ofStart(ctx, cfg, err)
		}
		s := standby.New(cfg, standby.Options{Cluster: host, Version: options.Version, File: options.File, Log: options.Log})
		defer reloadOnHangup(ctx, heard, s, service.Notifier{})()
		lease, cfg, _ := s.Wait(ctx) // the error is that of ctx
		return lease, cfg, nil
	}
	waiting, cancel := context.WithTimeout(ctx, cfg.Cluster.Lease.Std()+time.Second)
	defer cancel()
	lease, err := host.Wait(waiting)
	if err == nil || ctx.Err() != nil {
		return lease, cfg, nil
	}
	return nil, nil, notOwner(cfg, host)
}

// notOwner says why a host does not own.
func notOwner(cfg *config.Config, host *cluster.Host) error {
	kept := host.Kept()
	if kept.Wrong() {
		return terminal.Hinted(errors.New(kept.Cause), kept.Remedy)
	}
	hint := "ask that host; for a second one that stands by, see docs/cluster.md"
	if cfg.Cluster.Name != "" {
		hint = "start this host: longshore serve; or run this on " + host.View().Owner
	}
	return terminal.Hinted(fmt.Errorf("the state is in use: %s", kept.Cause), hint)
}

// tenure is the time in which this process owns.
type tenure struct {
	lease *cluster.Lease
	stop  context.CancelFunc
	kept  chan struct{}
}

// begin keeps the lease until end. If it is lost, the process ends at once.
func begin(lease *cluster.Lease, log *slog.Logger) *tenure {
	ctx, stop := context.WithCancel(context.Background())
	t := &tenure{lease, stop, make(chan struct{})}
	go func() {
		defer close(t.kept)
		if err := lease.Keep(ctx); err != nil {
			log.Error("the host ends at once", "error", err)
			os.Exit(terminal.ExitLost)
		}
	}()
	return t
}

// outlives waits for end, and reports whether that was not called in time. A host that hangs at its end would
// renew the lease for ever.
func (t *tenure) outlives(limit time.Duration) bool {
	select {
	case <-t.kept:
		return false
	case <-time.After(limit):
		return true
	}
}

// end gives the lease back. A nil tenure is of a state on this machine.
func (t *tenure) end() error {
	if t == nil {
		return nil
	}
	t.stop()
	<-t.kept
	return errors.Join(t.lease.Release(context.Background()), t.lease.Host().Close())
}

func (t *tenure) of() *cluster.Lease {
	if t == nil {
		return nil
	}
	return t.lease
}

// own makes this process the owner for one command, if the state is on PostgreSQL; else it returns nil.
// The error says if a host owns.
func (e *env) own(ctx context.Context, cfg *config.Config) (*tenure, error) {
	if cfg.State.Postgres.FromFile == "" {
		return nil, nil
	}
	log := newLog(e.Stderr, config.Log{Level: "warn"})
	host, err := e.hostIn(cfg, "", nil, log) // a command does not stand by
	if err != nil {
		return nil, err
	}
	lease, err := host.Take(ctx)
	if lease == nil {
		if err = ofDatabase(err); err == nil {
			err = notOwner(cfg, host)
		}
		return nil, errors.Join(err, host.Close())
	}
	t := begin(lease, log)
	if _, err := serve.NoteTenure(cfg.Layout(), lease.Before, lease.Number); err != nil { // if another machine was the last: the next start holds its queue
		return nil, errors.Join(err, t.end())
	}
	return t, nil
}

// ownAccounts returns how this process may change what a channel has in PostgreSQL: as the host of this machine
// does, if it runs and owns, else as the owner for one command.
func (e *env) ownAccounts(ctx context.Context, cfg *config.Config) (store.Server, *tenure, error) {
	server := serve.StateOf(cfg).Server
	if server.File == "" {
		return server, nil, nil
	}
	host, err := e.hostOf(ctx, cfg.Layout())
	if err != nil {
		return server, nil, err
	}
	if host == nil {
		t, err := e.own(ctx, cfg)
		return serve.OwnState(cfg, t.of()).Server, t, err
	}
	err = e.withCluster(ctx, func(_ context.Context, _ *pgx.Conn, v cluster.View) error {
		name, err := hostName(cfg)
		if err == nil && (!v.Owned || v.Owner != name) {
			err = terminal.Hinted(errors.New("this host, "+name+", stands by"), "do it on the host that owns: longshore cluster list")
		}
		server.Fence = &postgres.Fence{Cluster: v.Cluster, Number: v.Fence}
		return err
	})
	return server, nil, err
}

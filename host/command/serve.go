package command

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/cluster/guard"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/service"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/finding"
)

func newServe(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "run the host until it is told to stop",
		Long: `serve connects the configured channels, watches the groups' queues and runs
their assistants. It ends on SIGINT or SIGTERM. A send that is cut off is made
again at the next start, under the same id; what was accepted goes on then, too.
On SIGHUP it reads longshore.yaml again, see: longshore reload --help`,
		Args: terminal.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, problems, err := e.servable()
			if err != nil {
				return err
			}
			if len(problems) > 0 {
				e.printProblems("", problems)
				return tooManyProblems(e.Config, len(problems))
			}
			if cfg.Cluster.Name != "" && e.getenv(guard.Variable) == "" {
				return e.guarded(cmd.Context(), cfg)
			}
			return e.serve(cmd.Context(), cfg)
		},
	}
}

func (e *env) serve(ctx context.Context, cfg *config.Config) error {
	heard, stop := hangups()
	defer stop()
	// Ask first: otherwise a second host would complain of a port in use.
	if host, err := e.hostOf(ctx, cfg.Layout()); err != nil && len(doctor.NoSocket(cfg.Layout())) == 0 { // the state has a lock, too
		return err
	} else if host != nil {
		return terminal.Hinted(operator.ErrRunning, "see what runs: longshore status")
	}
	if all := e.doctor(cfg).Machine(ctx); len(all) > 0 {
		return terminal.Hinted(errors.New(all[0].Cause), all[0].Remedy)
	}
	options := serve.Options{Version: readVersion(e.version).Version, Log: newLog(e.Stderr, cfg.Log), File: configFile{e}}
	if cfg.State.Postgres.FromFile != "" {
		return e.serveShared(ctx, cfg, options, heard)
	}
	return e.runHost(ctx, cfg, options, heard)
}

// runHost runs the host until ctx is done. It reloads at each SIGHUP that is heard.
func (e *env) runHost(ctx context.Context, cfg *config.Config, options serve.Options, heard <-chan os.Signal) (err error) {
	log := options.Log
	h, err := serve.New(ctx, cfg, options)
	if err != nil {
		return e.ofStart(ctx, cfg, err)
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if options.Lease != nil {
		options.Lease.Serves()
	}
	log.Info("serving", "groups", len(cfg.Groups), "state", cfg.State.Directory, "version", options.Version)
	notifier := service.NotifierOf(e.getenv, os.Getpid())
	defer reloadOnHangup(ctx, heard, h, notifier)()
	defer notifyManager(ctx, notifier, log, cfg.Layout())()
	err = h.Run(ctx)
	log.Info("stopped")
	return err
}

// ofStart is the error with which a stopped host's parts cannot be opened: in the doctor's words, if the
// doctor knows why.
func (e *env) ofStart(ctx context.Context, cfg *config.Config, err error) error {
	if errors.Is(err, store.ErrLocked) && !errors.Is(err, store.ErrBusy) {
		return terminal.Hinted(err, "see what runs: longshore status")
	}
	var causes, remedies []string
	for _, f := range e.doctor(cfg).Start(ctx) {
		causes, remedies = append(causes, f.Cause), append(remedies, f.Remedy)
	}
	if len(causes) > 0 {
		return terminal.Hinted(errors.New(strings.Join(causes, "; ")), strings.Join(remedies, "; "))
	}
	if remedy := finding.Remedy(store.Number(err), cfg.State.Directory); remedy != "" {
		return terminal.Hinted(err, remedy)
	}
	return err
}

// doctor is that of an installation at rest.
func (e *env) doctor(cfg *config.Config) doctor.Doctor {
	return doctor.Of(cfg, serve.StoresOf(cfg, true), nil, nil, e.getenv)
}

// notifyManager reports to the service manager, if one started this process, until ctx is done or stop
// is called. stop waits for its goroutine. The host counts as alive while it answers a status
// through its control socket, for which it asks the outbox, the queues, channels and assistants.
func notifyManager(ctx context.Context, n service.Notifier, log *slog.Logger, l groups.Layout) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	client := operator.NewClient(operator.ControlDir(l))
	go func() {
		defer close(done)
		n.Run(ctx, log, func(ctx context.Context) error {
			_, err := client.Status(ctx)
			return err
		})
	}()
	return func() {
		cancel()
		<-done
	}
}

// configFile implements serve.File with the file that the command names.
type configFile struct{ *env }

// Load implements serve.File.
func (f configFile) Load(registered []groups.Group) (*config.Config, []*config.Problem, error) {
	return f.servable(registered...)
}

package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/cluster"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// hostOf returns a client of the host that runs on a state directory, nil if none runs. The host may
// be unready. The error is that this user may not ask, or that the host runs and cannot be asked.
func (e *env) hostOf(ctx context.Context, l groups.Layout) (*operator.Client, error) {
	client := operator.NewClient(operator.ControlDir(l))
	if err := client.Health(ctx); err != nil {
		f := e.unasked(l, err)
		if f.Name == finding.Host {
			return nil, nil
		}
		return nil, terminal.Hinted(errors.New(f.Cause), f.Remedy)
	}
	return client, nil
}

// unasked is the finding that the host of a layout could not be asked, by the error of its client.
func (e *env) unasked(l groups.Layout, err error) finding.Finding {
	if errors.Is(err, operator.ErrNoHost) {
		if pid := doctor.HostWithout("/proc", operator.ControlDir(l), e.Config); pid > 0 {
			if other := doctor.NoSocket(l); len(other) > 0 {
				return other[0]
			}
			return finding.Gone(l.State, pid)
		}
	}
	return doctor.Unasked(l, err)
}

// withControl calls do with the Control of the running host. If no host runs, do gets a Control of
// this process, which reads the outbox's records and opens the outbox only for an action.
func (e *env) withControl(ctx context.Context, do func(operator.Control) error) (err error) {
	c, err := e.load()
	if err != nil {
		return e.withLastGood(ctx, err, do)
	}
	client, err := e.hostOf(ctx, c.Layout())
	if err != nil {
		return err
	}
	if client != nil {
		return ofControl(do(client))
	}
	kept := serve.StateOf(c)
	if store.InUse(kept) {
		return stateInUse()
	}
	view, err := store.Look(ctx, kept)
	if err != nil {
		return e.ofStart(ctx, c, err)
	}
	options := operator.Options{
		Layout: c.Layout(), Version: readVersion(e.version).Version, Groups: operator.Fixed(c.Groups),
		Parts: doctor.Of(c, serve.StoresOf(c, true), nil, serve.Checks(c), e.getenv),
	}
	if view != nil {
		if kept.OnServer() {
			options.Trail = audit.Rows(view)
		}
		if options.Records, err = records.NewReader(ctx, view.DB); err != nil {
			return errors.Join(kept.Explain("read", err), view.Close())
		}
	}
	control := operator.NewOffline(options, view, installation{e, c})
	defer func() { err = errors.Join(err, control.Leave()) }()
	return ofControl(do(control))
}

// withLastGood calls do with the Control of the running host although its file is invalid now. If no
// host runs, it returns invalid, the error of the file.
func (e *env) withLastGood(ctx context.Context, invalid error, do func(operator.Control) error) error {
	client, err := e.hostOf(ctx, e.lastLayout())
	if err != nil || client == nil {
		return invalid
	}
	fmt.Fprintf(e.Stderr, "warning: the host that runs keeps the configuration that it applied last; mend the file, then: %s\n", e.Command("reload"))
	return ofControl(do(client))
}

// lastLayout returns where the host lies whose file is invalid now. If no process shows that, it is where the file
// says; without the file, the state directory has the usual name.
func (e *env) lastLayout() groups.Layout {
	if own := doctor.OwnOf("/proc", e.Config); own != "" {
		return groups.Layout{State: own}
	}
	l, found := config.LayoutOf(e.Config, e.platforms)
	if !found {
		l.State, _ = filepath.Abs(filepath.Join(filepath.Dir(e.Config), "state")) // an error: no host is found there
	}
	return l
}

// withAccounts calls do with the Control of the running host. If no host runs, it
// calls do with a Control that has only the channels' accounts; with messages, also what they keep
// in the state.
func (e *env) withAccounts(ctx context.Context, cfg *config.Config, messages bool, do func(operator.Control) error) (err error) {
	client, err := e.hostOf(ctx, cfg.Layout())
	if err != nil {
		return err
	}
	if client != nil {
		return ofControl(do(client))
	}
	server, t, err := e.ownAccounts(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.end()) }()
	var db *state.DB
	if messages {
		if db, err = e.openState(ctx, cfg, t.of()); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
	}
	local := operator.NewLocal(operator.Options{})
	for _, one := range cfg.Channels {
		if _, linked := one.Platform.(channel.Linker); !linked {
			continue
		}
		made, err := e.unopened(cfg, one, server, db)
		if err != nil {
			return err
		}
		local.Channels = append(local.Channels, made)
	}
	return ofControl(do(local))
}

// openState opens the state as a host does. The error says so if another command uses it.
func (e *env) openState(ctx context.Context, cfg *config.Config, lease *cluster.Lease) (*state.DB, error) {
	if err := cfg.Layout().Prepare(nil); err != nil { // after an interrupted restore, nothing is made
		return nil, err
	}
	db, err := serve.OpenState(ctx, cfg, lease, newLog(e.Stderr, config.Log{Level: "warn"}))
	if errors.Is(err, store.ErrLocked) {
		return nil, stateInUse()
	}
	return db, err
}

// installation is the installation of a configuration whose host does not run.
type installation struct {
	env    *env
	config *config.Config
}

// Act implements operator.Installation. It opens the stores that a host would open, with channels
// that send nothing.
func (i installation) Act(ctx context.Context, do func(*operator.Local) error) (err error) {
	t, err := i.env.own(ctx, i.config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.end()) }()
	h, err := serve.New(ctx, i.config, serve.Options{
		Version: readVersion(i.env.version).Version,
		Log:     slog.New(slog.DiscardHandler), Idle: true, Lease: t.of(),
		Channels: serve.OfflineChannels(i.config),
	})
	if errors.Is(err, store.ErrLocked) {
		return stateInUse()
	}
	if err != nil {
		return i.env.ofStart(ctx, i.config, err)
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	return do(h.Local(false))
}

// StoredTasks implements operator.Installation.
func (i installation) StoredTasks(ctx context.Context, group string) ([]tasks.Task, error) {
	registry, err := i.config.Registry()
	if err != nil {
		return nil, err
	}
	return tasks.ListStored(ctx, serve.StateOf(i.config), group, func(folder string) *time.Location {
		g, _ := registry.ByFolder(folder)
		return i.config.Zone(g)
	})
}

func stateInUse() error {
	return terminal.Hinted(errors.New("the state is in use, and the process that uses it answers no control socket"), "wait until the host has started or the other command has ended; longshore doctor names the process")
}

// ofControl gives an error of a Control its exit code and its hint.
func ofControl(err error) error {
	if _, has := errors.AsType[*terminal.Error](err); has {
		return err
	}
	if r := refusal.Of(err); r != nil {
		return terminal.Hinted(r, r.Hint)
	}
	switch {
	case errors.Is(err, operator.ErrNoHost):
		return terminal.Hinted(err, "longshore serve starts one")
	case errors.Is(err, operator.ErrUnanswered):
		return terminal.Hinted(err, operator.UnansweredRemedy)
	}
	return err
}

// ask makes one call of the Control and prints the answer: as JSON, or for people by print.
func ask[Out any](e *env, cmd *cobra.Command, call func(operator.Control, context.Context) (Out, error), print func(Out) error) error {
	return e.withControl(cmd.Context(), func(c operator.Control) error {
		answer, err := call(c, cmd.Context())
		if err != nil {
			return err
		}
		return e.Answer(answer, func() error { return print(answer) })
	})
}

// askFor is ask with an argument.
func askFor[In, Out any](e *env, cmd *cobra.Command, call func(operator.Control, context.Context, In) (Out, error), in In, print func(Out) error) error {
	return ask(e, cmd, func(c operator.Control, ctx context.Context) (Out, error) { return call(c, ctx, in) }, print)
}

// tell is askFor for a call without an answer; people read done.
func tell(e *env, cmd *cobra.Command, call func(operator.Control, context.Context, string) error, id, done string) error {
	return ask(e, cmd, func(c operator.Control, ctx context.Context) (struct{}, error) { return struct{}{}, call(c, ctx, id) },
		func(struct{}) error { e.Say("%s", done); return nil })
}

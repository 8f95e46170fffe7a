package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// hostOf returns a client of the host that runs on a state directory, or nil if
// none runs. The host need not be healthy: status reports that.
func hostOf(ctx context.Context, l groups.Layout) (*operator.Client, error) {
	client := operator.NewClient(operator.ControlDir(l))
	health := client.Health(ctx)
	switch {
	case errors.Is(health, operator.ErrDenied):
		return nil, hinted(health, asOwner)
	case errors.Is(health, operator.ErrNoHost):
		return nil, nil
	}
	return client, nil
}

// withControl calls do with the Control of the running host. If no host runs, it
// calls do with a Control of this process, which reads the outbox's records and
// opens the outbox itself only for an action.
func (e *env) withControl(ctx context.Context, do func(operator.Control) error) (err error) {
	c, err := e.load()
	if err != nil {
		return e.withLastGood(ctx, err, do)
	}
	client, err := hostOf(ctx, c.Layout())
	if err != nil {
		return err
	}
	if client != nil {
		return do(client)
	}
	kept := outbox.Store(c.Layout().Outbox(), serve.HomeOf(c))
	if store.InUse(kept) {
		return outboxInUse()
	}
	reader, err := outbox.OpenReader(ctx, kept)
	if err != nil {
		return err
	}
	if reader == nil { // nothing was ever accepted
		return do(&looking{operator.NewDesk(serve.DeskOptions(c, readVersion(e.version).Version)), nil, e, c})
	}
	options := serve.DeskOptions(c, readVersion(e.version).Version)
	options.Records = reader
	view := sync.OnceValue(reader.Close)
	defer func() { err = errors.Join(err, view()) }()
	return do(&looking{operator.NewDesk(options), view, e, c})
}

// withLastGood calls do with the Control of the running host, whose configuration
// file has become invalid since the host read it. If no host runs, it returns
// invalid, the error of the file.
func (e *env) withLastGood(ctx context.Context, invalid error, do func(operator.Control) error) error {
	layout, found := config.LayoutOf(e.config, e.platforms)
	if !found {
		return invalid
	}
	client, err := hostOf(ctx, layout)
	if err != nil || client == nil {
		return invalid
	}
	fmt.Fprintf(e.stderr, "warning: the host that runs keeps the configuration that it applied last; mend the file, then: %s\n", e.command("reload"))
	return do(client)
}

// withAccounts calls do with the Control of the running host. If no host runs, it
// calls do with a Control that has only the channels' accounts.
func (e *env) withAccounts(ctx context.Context, cfg *config.Config, do func(operator.Control) error) error {
	client, err := hostOf(ctx, cfg.Layout())
	if err != nil {
		return err
	}
	if client != nil {
		return do(client)
	}
	desk := operator.NewDesk(operator.DeskOptions{})
	for _, one := range cfg.Channels {
		if _, linked := one.Platform.(channel.Linker); !linked {
			continue
		}
		made, err := e.unopened(cfg, one)
		if err != nil {
			return err
		}
		desk.Channels = append(desk.Channels, made)
	}
	return do(desk)
}

// withDesk opens the stores that a host would open, with channels that send nothing.
func (e *env) withDesk(ctx context.Context, c *config.Config, do func(*operator.Desk) error) (err error) {
	h, err := serve.New(ctx, c, serve.Options{
		Version: readVersion(e.version).Version,
		Log:     slog.New(slog.DiscardHandler), Idle: true,
		Channels: func(c *config.Config, _ serve.Options) ([]channel.Channel, error) {
			return serve.OfflineChannels(c), nil
		},
	})
	if errors.Is(err, outbox.ErrLocked) {
		return outboxInUse()
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	return do(h.Desk(false))
}

func outboxInUse() error {
	return hinted(errors.New("the outbox is in use, and whoever uses it answers no control socket"), "wait until the host has started or the other command has ended; see: longshore doctor")
}

// looking is the Control of an installation whose host does not run. Queries create
// and change nothing; Retry, Drop and Send open the outbox. Only Send creates an
// outbox that does not exist.
type looking struct {
	*operator.Desk
	leave  func() error // ends the reading of the records; nil: there are none
	env    *env
	config *config.Config
}

// act opens the outbox for one action.
func (l *looking) act(ctx context.Context, do func(*operator.Desk) error) error {
	if l.leave != nil {
		if err := l.leave(); err != nil {
			return err
		}
	}
	return l.env.withDesk(ctx, l.config, do)
}

func (l *looking) Send(ctx context.Context, s operator.Send) (item operator.Item, err error) {
	err = l.act(ctx, func(d *operator.Desk) error {
		item, err = d.Send(ctx, s)
		return err
	})
	return item, err
}

// Tasks reads the store, which needs no host.
func (l *looking) Tasks(ctx context.Context, group string) ([]tasks.Task, error) {
	registry, err := l.config.Registry()
	if err != nil {
		return nil, err
	}
	return tasks.ListStored(ctx, serve.TasksOf(l.config), group, func(folder string) *time.Location {
		g, _ := registry.ByFolder(folder)
		return l.config.Zone(g)
	})
}

func (l *looking) Retry(ctx context.Context, id string) error {
	if l.leave == nil {
		return l.Desk.Retry(ctx, id)
	}
	return l.act(ctx, func(d *operator.Desk) error { return d.Retry(ctx, id) })
}

func (l *looking) Drop(ctx context.Context, id string) error {
	if l.leave == nil {
		return l.Desk.Drop(ctx, id)
	}
	return l.act(ctx, func(d *operator.Desk) error { return d.Drop(ctx, id) })
}

func (l *looking) Decide(ctx context.Context, id string, yes bool) error {
	if l.leave == nil {
		return l.Desk.Decide(ctx, id, yes)
	}
	return l.act(ctx, func(d *operator.Desk) error { return d.Decide(ctx, id, yes) })
}

// ofControl adds to an error of the host its exit code and its hint.
func ofControl(err error) error {
	if r := refusal.Of(err); r != nil {
		return hinted(r, r.Hint)
	}
	if errors.Is(err, operator.ErrNoHost) {
		return hinted(err, "longshore serve starts one")
	}
	return err
}

// Package serve opens the parts of a host and runs them. It says which part
// gets what, and decides nothing itself.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/assistant"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
)

// Options is what a host needs beside its configuration.
type Options struct {
	Log     *slog.Logger
	Version string                             // of the program
	Trace   func(folder, request, step string) // may be nil

	Idle   bool                // it will not be run: no container engine is looked for
	Getenv func(string) string // names the container engine; nil: the process's environment

	// Channels builds the channels; nil: those that the configuration names.
	Channels func(*config.Config, Options) ([]channel.Channel, error)
}

// Host is everything that serve and demo run, wired.
type Host struct {
	opts       Options
	Config     *config.Config
	Layout     groups.Layout
	Registry   *groups.Registry
	mounts     map[string]*mounts.Map
	Channels   []channel.Channel
	Outbox     *outbox.Outbox
	Bridge     *bridge.Bridge
	spool      *ipc.Spool
	runtimes   *runtimes
	assistants *assistant.Manager
	started    time.Time
}

// New opens everything that cfg names and starts nothing. Close closes what it
// opened; New does so itself if it returns an error.
func New(ctx context.Context, cfg *config.Config, opts Options) (_ *Host, err error) {
	if opts.Trace == nil {
		opts.Trace = func(string, string, string) {}
	}
	if opts.Channels == nil {
		opts.Channels = configuredChannels
	}
	h := &Host{opts: opts, Config: cfg, Layout: cfg.Layout(), mounts: map[string]*mounts.Map{}, started: time.Now()}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if err := h.open(ctx); err != nil {
		return nil, err
	}
	h.Bridge = bridge.New(bridge.Options{
		Registry: h.Registry, Mounts: h.mounts, Channels: h.Channels, Outbox: h.Outbox,
		Spool: h.spool, Wait: cfg.Limits.Wait.Std(), Log: opts.Log, Trace: opts.Trace,
	})
	h.assistants, err = assistant.New(h.assistantOptions())
	return h, err
}

// open makes the directories and opens what lies in them, in the order in
// which one needs the other.
func (h *Host) open(ctx context.Context) (err error) {
	if unset := h.Config.Unset; len(unset) > 0 && !h.opts.Idle {
		return unset[0] // without its token, the page would be open to everybody
	}
	if !h.opts.Idle {
		if err := checkStores(ctx, h.Config); err != nil {
			return err
		}
	}
	for _, g := range h.Config.Groups {
		giveBack(h.Layout, g.Folder, h.opts.Log)
	}
	if err := h.Layout.Prepare(h.Config.Groups); err != nil {
		return err
	}
	var folders []string
	for _, g := range h.Config.Groups {
		folders = append(folders, g.Folder)
		if h.mounts[g.Folder], err = mounts.New(h.Layout, g); err != nil {
			return err
		}
		h.mounts[g.Folder].Refresh() // what is hidden now stays hidden wherever it is moved
	}
	if h.Channels, err = h.opts.Channels(h.Config, h.opts); err != nil {
		return err
	}
	if h.Registry, err = groups.NewRegistry(h.Config.Groups); err != nil {
		return err
	}
	if problems := Unsupported(h.Config, h.Channels); len(problems) > 0 {
		return fmt.Errorf("%s: %s", problems[0].Key, problems[0].Message)
	}
	if err := h.openRuntimes(ctx); err != nil {
		return err
	}
	h.spool = ipc.NewSpool(ipc.SpoolOptions{
		Dir: h.Layout.IPCDir(), Folders: folders, Restore: h.Layout.PrepareQueue, Log: h.opts.Log, Trace: h.opts.Trace,
		KeepResults: h.Config.Limits.KeepResults.Std(), KeepErrors: h.Config.Limits.KeepErrors.Std(),
	})
	h.Outbox, err = outbox.Open(ctx, h.outboxOptions())
	return err
}

// Run runs every part until ctx is done, or until one of them cannot go on. A
// channel that its platform has ended for good stops nothing else.
func (h *Host) Run(ctx context.Context) error {
	h.reap(ctx)
	h.tellSnapshots()
	g, ctx := errgroup.WithContext(ctx)
	for _, c := range h.Channels {
		in := inbox{channel: c.Name(), groups: h.Registry, assistants: h.assistants, outbox: h.Outbox, log: h.opts.Log, trace: h.opts.Trace}
		g.Go(func() error {
			if err := c.Run(ctx, in); err != nil {
				h.opts.Log.Error("channel ended; its deliveries are kept", "channel", c.Name(), "error", err)
			}
			return nil
		})
	}
	g.Go(func() error { return h.Outbox.Run(ctx) })
	g.Go(func() error { return h.spool.Run(ctx) })
	g.Go(func() error { h.Bridge.Run(ctx, h.assistants); return nil }) // ends after the outbox
	g.Go(func() error { return h.assistants.Run(ctx) })
	g.Go(func() error { return h.tellContexts(ctx) })
	g.Go(func() error { return h.sweep(ctx) })
	desk := h.Desk(true)
	health := desk.Health()
	control := operator.Server{Dir: operator.ControlDir(h.Layout), Control: desk, Health: health, Log: h.opts.Log}
	g.Go(func() error { return control.Run(ctx) })
	if listen := h.Config.Metrics.Listen; listen != "" {
		g.Go(func() error { return operator.ServeHealth(ctx, listen, h.Config.Metrics.Hosts, health) })
	}
	return g.Wait()
}

// Close closes what New opened. Run must have returned.
func (h *Host) Close() error {
	var errs []error
	if h.Outbox != nil {
		errs = append(errs, h.Outbox.Close())
	}
	if h.spool != nil {
		errs = append(errs, h.spool.Close())
	}
	for _, c := range h.Channels {
		if closer, ok := c.(interface{ Close() error }); ok {
			errs = append(errs, closer.Close())
		}
	}
	errs = append(errs, h.runtimes.Close())
	for _, m := range h.mounts {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}

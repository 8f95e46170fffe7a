package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/assistant"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
)

// hostOptions is what a host needs beside its configuration.
type hostOptions struct {
	log   *slog.Logger
	trace func(folder, request, step string) // may be nil

	idle     bool                // it will not be run: no container engine is looked for
	getenv   func(string) string // names the container engine; nil: the process's environment
	whatsapp *http.Client        // how WhatsApp is reached; nil: as its library does

	// channels builds the channels; nil: those that the configuration names.
	channels func(*groups.Config, *groups.Registry, hostOptions) ([]channel.Channel, error)
}

// host is everything that serve and demo run, wired.
type host struct {
	opts       hostOptions
	config     *groups.Config
	layout     groups.Layout
	registry   *groups.Registry
	mounts     map[string]*groups.MountMap
	channels   []channel.Channel
	outbox     *outbox.Outbox
	bridge     *bridge.Bridge
	spool      *ipc.Spool
	updates    *updates
	runtimes   *runtimes
	assistants *assistant.Manager
	started    time.Time
}

// newHost opens everything that cfg names and starts nothing. What it opened
// is closed by Close, also when newHost returns an error.
func newHost(ctx context.Context, cfg *groups.Config, opts hostOptions) (_ *host, err error) {
	if opts.trace == nil {
		opts.trace = func(string, string, string) {}
	}
	if opts.channels == nil {
		opts.channels = configuredChannels
	}
	h := &host{opts: opts, config: cfg, layout: cfg.Layout(), mounts: map[string]*groups.MountMap{}, started: time.Now()}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if err := h.open(ctx); err != nil {
		return nil, err
	}
	h.bridge = bridge.New(bridge.Options{
		Registry: h.registry, Mounts: h.mounts, Channels: h.channels, Outbox: h.outbox,
		Pending: h.spool.Exists, Log: opts.log, Trace: opts.trace,
	})
	h.assistants, err = assistant.New(h.assistantOptions())
	return h, err
}

// open makes the directories and opens what lies in them, in the order in
// which one needs the other.
func (h *host) open(ctx context.Context) (err error) {
	if unset := h.config.Unset; len(unset) > 0 && !h.opts.idle {
		return unset[0] // without its token, the page would be open to everybody
	}
	if h.registry, err = groups.NewRegistry(h.config.Groups); err != nil {
		return err
	}
	for _, g := range h.config.Groups {
		giveBack(h.layout, g.Folder, h.opts.log)
	}
	if err := h.layout.Prepare(h.config.Groups); err != nil {
		return err
	}
	var folders []string
	for _, g := range h.config.Groups {
		folders = append(folders, g.Folder)
		if h.mounts[g.Folder], err = groups.NewMountMap(h.layout, g); err != nil {
			return err
		}
	}
	if h.channels, err = h.opts.channels(h.config, h.registry, h.opts); err != nil {
		return err
	}
	if problems := unsupported(h.config, h.channels); len(problems) > 0 {
		return fmt.Errorf("%s: %s", problems[0].Key, problems[0].Message)
	}
	if err := h.openRuntimes(ctx); err != nil {
		return err
	}
	h.spool = ipc.NewSpool(ipc.SpoolOptions{
		Dir: h.layout.IPCDir(), Folders: folders, Restore: h.layout.PrepareQueue, Log: h.opts.log, Trace: h.opts.trace,
		KeepResults: h.config.Limits.KeepResults.Std(), KeepErrors: h.config.Limits.KeepErrors.Std(),
		Handler: func(ctx context.Context, folder string, drops []ipc.Drop) []ipc.Verdict {
			return h.bridge.Handle(ctx, folder, drops)
		},
	})
	h.updates = newUpdates()
	h.outbox, err = outbox.Open(ctx, h.outboxOptions())
	return err
}

// Run runs every part until ctx is done, or until one of them cannot go on. A
// channel that its platform has ended for good stops nothing else.
func (h *host) Run(ctx context.Context) error {
	h.reap(ctx)
	h.tellSnapshots()
	last, stop := context.WithCancel(context.WithoutCancel(ctx))
	written := results{
		updates: h.updates, past: h.outbox.Reader(), spool: h.spool, assistants: h.assistants,
		wait: h.config.Limits.Wait.Std(), log: h.opts.log,
	}
	var writing sync.WaitGroup
	writing.Go(func() { written.Run(last) }) // the outbox's last words are written too
	defer writing.Wait()
	defer stop()

	g, ctx := errgroup.WithContext(ctx)
	in := inbox{groups: h.registry, assistants: h.assistants, outbox: h.outbox, log: h.opts.log, trace: h.opts.trace}
	for _, c := range h.channels {
		g.Go(func() error {
			if err := c.Run(ctx, in); err != nil {
				h.opts.log.Error("channel ended; its deliveries are kept", "channel", c.Name(), "error", err)
			}
			return nil
		})
	}
	g.Go(func() error { return h.outbox.Run(ctx) })
	g.Go(func() error { return h.spool.Run(ctx) })
	g.Go(func() error { return h.assistants.Run(ctx) })
	g.Go(func() error { return h.tellContexts(ctx) })
	g.Go(func() error { return h.sweep(ctx) })
	desk := h.desk(true)
	health := desk.Health()
	control := operator.Server{Dir: operator.ControlDir(h.layout), Control: desk, Health: health, Log: h.opts.log}
	g.Go(func() error { return control.Run(ctx) })
	if listen := h.config.Metrics.Listen; listen != "" {
		g.Go(func() error { return operator.ServeHealth(ctx, listen, health) })
	}
	return g.Wait()
}

// Close closes what newHost opened. Run must have returned.
func (h *host) Close() error {
	var errs []error
	if h.outbox != nil {
		errs = append(errs, h.outbox.Close())
	}
	if h.spool != nil {
		errs = append(errs, h.spool.Close())
	}
	for _, c := range h.channels {
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

// channelOf finds the channel that owns a chat, or nil.
func (h *host) channelOf(chat groups.JID) channel.Channel { return owner(h.channels, chat) }

func owner(channels []channel.Channel, chat groups.JID) channel.Channel {
	for _, c := range channels {
		if c.Owns(chat) {
			return c
		}
	}
	return nil
}

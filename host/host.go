package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/assistant"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/container"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
)

// hostOptions is what a host needs beside its configuration.
type hostOptions struct {
	log   *slog.Logger
	trace func(folder, request, step string) // may be nil

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
	results    *results
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
	if h.registry, err = groups.NewRegistry(h.config.Groups); err != nil {
		return err
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
	if err := h.checkGroups(); err != nil {
		return err
	}
	h.spool = ipc.NewSpool(ipc.SpoolOptions{
		Dir: h.layout.IPCDir(), Folders: folders, Log: h.opts.log, Trace: h.opts.trace,
		Handler: func(ctx context.Context, folder string, drops []ipc.Drop) []ipc.Verdict {
			return h.bridge.Handle(ctx, folder, drops)
		},
	})
	h.results = newResults(h)
	h.outbox, err = outbox.Open(ctx, h.outboxOptions())
	return err
}

// checkGroups refuses what the configuration may say and this host cannot do.
func (h *host) checkGroups() error {
	var errs []error
	for _, g := range h.config.Groups {
		if h.channelOf(g.Chat) == nil {
			errs = append(errs, fmt.Errorf("group %s: no channel that is configured carries %s; add it under channels:", g.Folder, g.Chat))
		}
		if g.Assistant == "" {
			continue
		}
		if a := h.config.Assistants[g.Assistant]; a.Runtime != "process" {
			errs = append(errs, fmt.Errorf("assistant %s: this version has no runtime %q; use process", g.Assistant, a.Runtime))
		} else if !slices.Contains(agents(), a.Agent) {
			errs = append(errs, fmt.Errorf("assistant %s: this version does not drive %q itself; use agent: command with its program, or one of %v", g.Assistant, a.Agent, agents()))
		}
	}
	return errors.Join(errs...)
}

// agents are those that agentrunner drives.
func agents() []string { return []string{"sample", "command"} }

// Run runs every part until ctx is done, or until one of them cannot go on. A
// channel that its platform has ended for good stops nothing else.
func (h *host) Run(ctx context.Context) error {
	last, stop := context.WithCancel(context.WithoutCancel(ctx))
	var results sync.WaitGroup
	results.Go(func() { h.results.Run(last) }) // the outbox's last words are written too
	defer results.Wait()
	defer stop()

	g, ctx := errgroup.WithContext(ctx)
	for _, c := range h.channels {
		g.Go(func() error {
			if err := c.Run(ctx, inbox{h}); err != nil {
				h.opts.log.Error("channel ended; its deliveries are kept", "channel", c.Name(), "error", err)
			}
			return nil
		})
	}
	g.Go(func() error { return h.outbox.Run(ctx) })
	g.Go(func() error { return h.spool.Run(ctx) })
	g.Go(func() error { return h.assistants.Run(ctx) })
	g.Go(func() error { return h.tellContexts(ctx) })
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
	for _, m := range h.mounts {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}

// configuredChannels makes the channels of longshore.yaml.
func configuredChannels(cfg *groups.Config, registry *groups.Registry, opts hostOptions) ([]channel.Channel, error) {
	var all []channel.Channel
	if w := cfg.Channels.Web; w != nil {
		var chats []web.Chat
		for _, g := range registry.All() {
			if g.Chat.Channel() == "web" {
				chats = append(chats, web.Chat{JID: g.Chat, Name: g.Name})
			}
		}
		c, err := web.New(web.Options{
			Dir: cfg.Layout().Channel("web"), Listen: w.Listen, Token: w.Token.Reveal(), Hosts: hostsOf(w.URL),
			Chats: chats, AssistantName: cfg.Name, MaxUpload: int64(w.Upload), KeepFree: int64(cfg.Limits.FreeDisk), Log: opts.log,
		})
		if err != nil {
			return nil, fmt.Errorf("channel web: %w", err)
		}
		all = append(all, c)
	}
	return all, nil
}

// hostsOf is the name that a public URL gives the page, if there is one.
func hostsOf(public string) []string {
	u, err := url.Parse(public)
	if err != nil || u.Host == "" {
		return nil
	}
	return []string{u.Host}
}

func (h *host) outboxOptions() outbox.Options {
	l := h.config.Limits
	return outbox.Options{
		Dir: h.layout.Outbox(), Channels: h.channels, Log: h.opts.log, Trace: h.opts.trace,
		OnUpdate: h.results.put,
		MaxAge:   l.Retry.MaxAge.Std(),
		Backoff:  outbox.Backoff{Initial: l.Retry.First.Std(), Max: l.Retry.Max.Std()},
		Parallel: l.Sends,
		Rate: func(folder string) outbox.Rate {
			g, _ := h.registry.ByFolder(folder)
			return outbox.Rate{PerMinute: float64(g.Rate.PerMinute), Burst: g.Rate.Burst}
		},
		QuotaPending: l.Pending, QuotaBytes: int64(l.Outbox), FreeDisk: int64(l.FreeDisk), Retention: l.KeepResults.Std(),
	}
}

func (h *host) assistantOptions() assistant.Options {
	return assistant.Options{
		Layout: h.layout, Groups: h.registry, Log: h.opts.log, AtOnce: h.config.Limits.Assistants,
		Runtime: &container.Process{Log: h.opts.log},
		Plan:    h.plan,
		Say: func(ctx context.Context, folder string, _ groups.JID, text, key string) error {
			return h.bridge.Say(ctx, folder, text, key)
		},
		SentSince: h.acceptedSince,
		Typing: func(ctx context.Context, chat groups.JID, on bool) {
			if t, ok := h.channelOf(chat).(channel.Typing); ok {
				t.Typing(ctx, chat, on)
			}
		},
	}
}

// plan says how a group's assistant is run.
func (h *host) plan(g groups.Group) (assistant.Plan, error) {
	a, ok := h.config.Assistants[g.Assistant]
	if !ok {
		return assistant.Plan{}, fmt.Errorf("assistant %q is not configured", g.Assistant)
	}
	plan := assistant.Plan{
		Name: h.config.Name, Agent: a.Agent,
		Env:         map[string]string{"LONGSHORE_WAIT": h.config.Limits.Wait.String()},
		Secrets:     map[string]string{},
		IdleTimeout: a.IdleTimeout.Std(), TurnTimeout: a.TurnTimeout.Std(),
	}
	for name, value := range a.Env {
		plan.Secrets[name] = value.Reveal()
	}
	if len(a.Command) > 0 {
		command, err := json.Marshal(a.Command)
		if err != nil {
			return assistant.Plan{}, fmt.Errorf("assistant %q: %w", g.Assistant, err)
		}
		plan.Env["LONGSHORE_AGENT_COMMAND"] = string(command)
	}
	return plan, nil
}

// acceptedSince says whether anything from a group has reached the outbox. If
// nobody can tell, it has: a turn is rather not repeated than told twice.
func (h *host) acceptedSince(folder string, since time.Time) bool {
	found, err := h.outbox.Reader().AcceptedSince(context.Background(), folder, since)
	if err != nil {
		h.opts.log.Error("look for deliveries", "group", folder, "error", err)
	}
	return found || err != nil
}

// channelOf finds the channel that owns a chat, or nil.
func (h *host) channelOf(chat groups.JID) channel.Channel {
	for _, c := range h.channels {
		if c.Owns(chat) {
			return c
		}
	}
	return nil
}

// inbox is where the channels' messages come in.
type inbox struct{ h *host }

func (i inbox) Receive(ctx context.Context, m channel.Inbound) error {
	i.h.opts.trace(i.folder(m.Chat), "", "received")
	return i.h.assistants.Receive(ctx, m)
}

func (i inbox) Report(ctx context.Context, chat groups.JID, id string, state channel.State) {
	if err := i.h.outbox.Report(ctx, chat, id, state); err != nil {
		i.h.opts.log.Error("record receipt", "chat", string(chat), "error", err)
	}
}

func (i inbox) folder(chat groups.JID) string {
	g, _ := i.h.registry.ByChat(chat)
	return g.Folder
}

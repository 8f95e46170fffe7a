package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/cli"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/assistant"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/media"
)

// unsupported is what the configuration may say and this host cannot do with
// those channels. The problems name no file and no line.
func unsupported(cfg *groups.Config, channels []channel.Channel) (problems []*groups.Problem) {
	bad := func(key, message, hint string) {
		problems = append(problems, &groups.Problem{Key: key, Message: message, Hint: hint})
	}
	for i, g := range cfg.Groups {
		if owner(channels, g.Chat) == nil {
			bad(fmt.Sprintf("groups[%d].chat", i), fmt.Sprintf("no channel that is configured carries %s", g.Chat), "add its channel below channels:")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Assistants)) {
		if !slices.ContainsFunc(cfg.Groups, func(g groups.Group) bool { return g.Assistant == name }) {
			continue
		}
		if a := cfg.Assistants[name]; !slices.Contains(agents(), a.Agent) {
			bad("assistants."+name+".agent", fmt.Sprintf("this version does not drive %q itself", a.Agent), "use agent: command with its program, or one of "+strings.Join(agents(), ", "))
		}
	}
	return problems
}

// agents are those that agentrunner drives.
func agents() []string { return cli.Agents() }

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
			return nil, fmt.Errorf("channel %w", err) // it begins with its name
		}
		all = append(all, c)
	}
	if cfg.Channels.WhatsApp != nil {
		c, err := newWhatsApp(cfg, opts.log, opts.whatsapp)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// newWhatsApp makes the WhatsApp channel that the configuration describes.
// client is how it reaches WhatsApp; nil is as its library does.
func newWhatsApp(cfg *groups.Config, log *slog.Logger, client *http.Client) (*whatsapp.WhatsApp, error) {
	w := cfg.Channels.WhatsApp
	limits := whatsapp.DefaultLimits()
	for kind, size := range w.Files {
		l := limits.Kinds[media.Kind(kind)]
		l.Bytes = size
		limits.Kinds[media.Kind(kind)] = l
	}
	chats := []groups.JID{}
	for _, g := range cfg.Groups {
		if g.Chat.Channel() == "whatsapp" {
			chats = append(chats, g.Chat)
		}
	}
	return whatsapp.New(whatsapp.Options{
		Dir: cfg.Layout().Store(), DeviceName: w.Device, Chats: chats, Limits: limits, Log: log, HTTPClient: client,
		Reserve: (&scratch{dir: cfg.State, keep: int64(cfg.Limits.FreeDisk)}).reserve,
		Rates: whatsapp.Rates{
			ChatPerMinute: float64(w.Rate.PerMinute), ChatBurst: w.Rate.Burst,
			AccountPerMinute: float64(w.Account.PerMinute), AccountBurst: w.Account.Burst,
		},
	})
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
		OnUpdate: h.updates.put,
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
		Runtime: h.runtimes,
		Plan:    h.plan,
		Say: func(ctx context.Context, folder string, _ groups.JID, text, key string) error {
			return h.bridge.Say(ctx, folder, text, key)
		},
		Room: func(folder string) error {
			return h.outbox.Room(folder, outbox.Load{}, outbox.Load{Parts: 1})
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
	if h.layout.V1 && a.Runtime == "docker" {
		// v1's agent-runner read secrets from the document at first, and later
		// only what v1's host set in the environment.
		maps.Copy(plan.Env, plan.Secrets)
	}
	if a.Runtime == "process" {
		// A process has the workspace for its home; its conversations belong elsewhere.
		plan.Env["LONGSHORE_AGENT_HOME"] = filepath.Dir(h.layout.Session(g.Folder))
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

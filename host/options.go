package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/assistant"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
)

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

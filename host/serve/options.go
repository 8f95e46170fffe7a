package serve

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/assistant"
	"github.com/longshore-bridge/longshore/host/outbox"
)

func (h *Host) outboxOptions() outbox.Options {
	l := h.Config.Limits
	return outbox.Options{
		Dir: h.Layout.Outbox(), Home: HomeOf(h.Config), Channels: h.Channels, Log: h.opts.Log, Trace: h.opts.Trace,
		MaxAge:   l.Retry.MaxAge.Std(),
		Backoff:  outbox.Backoff{Initial: l.Retry.First.Std(), Max: l.Retry.Max.Std()},
		Parallel: l.Sends,
		Rate: func(folder string) outbox.Rate {
			g, _ := h.Registry.ByFolder(folder)
			return outbox.Rate{PerMinute: float64(g.Rate.PerMinute), Burst: g.Rate.Burst}
		},
		QuotaPending: l.Pending, QuotaBytes: int64(l.Outbox), FreeDisk: int64(l.FreeDisk), Retention: l.KeepResults.Std(),
	}
}

func (h *Host) assistantOptions() assistant.Options {
	return assistant.Options{
		Layout: h.Layout, Groups: h.Registry, Log: h.opts.Log, AtOnce: h.Config.Limits.Assistants,
		Runtime:   h.runtimes,
		Plan:      h.Plan,
		Say:       h.Bridge.Say,
		Room:      h.Bridge.Room,
		SentSince: h.Bridge.AcceptedSince,
		Fetch:     carriers(h.Channels).fetch,
		Typing:    carriers(h.Channels).typing,
		Reserve:   (&scratch{dir: h.Config.State, keep: int64(h.Config.Limits.FreeDisk)}).reserve,
		MaxInbox:  int64(h.Config.Limits.Inbox),
	}
}

// Plan says how a group's assistant is run.
func (h *Host) Plan(g groups.Group) (assistant.Plan, error) {
	a, ok := h.Config.Assistants[g.Assistant]
	if !ok {
		return assistant.Plan{}, fmt.Errorf("assistant %q is not configured", g.Assistant)
	}
	plan := assistant.Plan{
		Name: h.Config.Name, Agent: a.Agent,
		Env:         map[string]string{"LONGSHORE_WAIT": h.Config.Limits.Wait.String()},
		Secrets:     map[string]string{},
		IdleTimeout: a.IdleTimeout.Std(), TurnTimeout: a.TurnTimeout.Std(),
	}
	for name, value := range a.Env {
		plan.Secrets[name] = value.Reveal()
	}
	if h.Layout.V1 && a.Runtime == "docker" {
		// v1's agent-runner read secrets from the document at first, and later
		// only what v1's host set in the environment.
		maps.Copy(plan.Env, plan.Secrets)
	}
	if a.Runtime == "process" {
		// A process has the workspace for its home; its conversations belong elsewhere.
		plan.Env["LONGSHORE_AGENT_HOME"] = filepath.Dir(h.Layout.Session(g.Folder))
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

package serve

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
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/outbox"
)

func (h *Host) outboxOptions() outbox.Options {
	return outbox.Options{
		Dir: h.Layout.Outbox(), Home: HomeOf(h.Config()), Channels: h.Channels, Log: h.opts.Log, Trace: h.opts.Trace,
		Limits: h.OutboxLimits, Rate: h.SendRate,
	}
}

func (h *Host) assistantOptions() assistant.Options {
	return assistant.Options{
		Layout: h.Layout, Groups: h.Registry, Log: h.opts.Log,
		Limits: func() assistant.Limits {
			l := h.Config().Limits
			return assistant.Limits{AtOnce: l.Assistants, Inbox: int64(l.Inbox), NoticeAfter: l.NoticeAfter.Std(), Hold: l.Hold.Std()}
		},
		Plan:      h.Plan,
		Threads:   h.threads,
		Hint:      h.Hints,
		Elsewhere: h.Elsewhere,
		Say:       h.Bridge.Say,
		Tell:      h.Bridge.Tell,
		React:     h.Bridge.React,
		Room:      h.Bridge.Room,
		SentSince: h.Bridge.SentSince,
		Sent:      h.sent,
		Vote:      h.vote,
		Role:      carriers(h.Channels).role,
		Fetch:     carriers(h.Channels).fetch,
		Typing:    carriers(h.Channels).typing,
		Reserve:   h.disk.Reserve,
		TaskEnded: h.taskEnded,

		OverBudget: h.overBudget,
		Zone:       h.Zone,

		Transcriber: h.transcriber(),
	}
}

// vote takes what may answer a question of an assistant.
func (h *Host) vote(ctx context.Context, v assistant.Vote) (*assistant.Counted, error) {
	in := v.Inbound
	vote := outbox.Vote{Text: in.Text, Thread: in.Thread, Voter: v.Voter, Name: in.From, Time: in.Time}
	if in.Kind == channel.KindVote {
		vote.Poll, vote.Choices, vote.Text = in.Target, in.Choices, ""
	} else if in.Quote != nil {
		vote.ReplyTo = in.Quote.ID
	}
	counted, err := h.Outbox.Vote(ctx, v.Chat, vote)
	if counted == nil || err != nil {
		return nil, err
	}
	return &assistant.Counted{Target: counted.Target, Choices: counted.Choices, Waited: counted.First && time.Since(counted.Asked) < h.Wait()}, nil
}

// threads is how many threads of a group's chat its assistant remembers.
func (h *Host) threads(g groups.Group) int {
	c := channel.Named(h.Channels, g.Channel)
	if g.Threads == groups.Flat || c == nil || !c.Limits().Threads {
		return 0
	}
	return h.Config().Limits.Threads
}

// Plan says how a group's assistant is run.
func (h *Host) Plan(g groups.Group) (assistant.Plan, error) {
	now := h.Now()
	a, ok := now.Config.Assistants[g.Assistant]
	if !ok {
		return assistant.Plan{}, fmt.Errorf("assistant %q is not configured", g.Assistant)
	}
	plan := assistant.Plan{
		Name: now.Config.Name, Agent: a.Agent, Runtime: now.Runtimes.Of(g),
		Env:         map[string]string{"LONGSHORE_WAIT": now.Config.Limits.Wait.String(), "LONGSHORE_NOTICE_AFTER": now.Config.Limits.NoticeAfter.String()},
		Model:       a.Env["LONGSHORE_MODEL"].Reveal(),
		Secrets:     map[string]string{},
		IdleTimeout: a.IdleTimeout.Std(), TurnTimeout: a.TurnTimeout.Std(),
	}
	for name, value := range a.Env {
		plan.Secrets[name] = value.Reveal()
	}
	if a.Runtime == config.Elsewhere {
		plan.Agent, plan.Runtime = "", elsewhereRuntime{}
		return plan, nil
	}
	if a.Keys == "proxy" {
		h.models.keepKeys(plan, a, g.Folder)
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

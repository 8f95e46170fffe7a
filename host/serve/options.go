package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/host/transcribe"
	"github.com/longshore-bridge/longshore/host/turns"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/finding"
)

func (h *Host) assistantOptions() turns.Options {
	o := turns.Options{
		State: h.State, Layout: h.Layout, Chat: h.Bridge, Plans: h.plans, Platforms: platforms(h.Channels), Disk: h.disk, Log: h.opts.Log, Idle: h.opts.Idle,
	}
	if h.tasks != nil {
		o.Tasks = h.tasks
	}
	return o
}

// plans implements turns.Plans and tasks.Host: what they ask of the configuration in force.
type plans struct {
	*Host
	speech *transcribe.Transcriber
}

func (p plans) Limits() turns.Limits {
	l := p.Config().Limits
	return turns.Limits{AtOnce: l.Assistants, Inbox: int64(l.Inbox), Threads: l.Threads, NoticeAfter: l.NoticeAfter.Std(), Hold: l.Hold.Std()}
}

func (p plans) Placement(g groups.Group, running map[string]int) (turns.Placement, bool) {
	return p.engines.Placement(g, running)
}

func (p plans) OverBudget(folder string) bool { return p.overBudget(folder) }

// transcriber implements inbound.Transcriber with the entries of one configuration.
type transcriber struct {
	by      *transcribe.Transcriber
	entries []transcribe.Entry
}

func (t transcriber) Transcribe(ctx context.Context, sound *os.File, mime string) (text string, seconds int, err error) {
	found, err := t.by.Transcribe(ctx, t.entries, sound, mime)
	return found.Text, found.Seconds, err
}

func (p plans) Transcriber(g groups.Group) inbound.Transcriber {
	entries := TranscriptionOf(p.Config())
	if len(entries) == 0 || g.Speech == groups.SpeechOff {
		return nil
	}
	return transcriber{p.speech, entries}
}

// Plan returns how a group's assistant is run. The error is that it is not configured.
func (h *Host) Plan(g groups.Group) (turns.Plan, error) {
	now := h.Now()
	a, ok := now.Config.Assistants[g.Assistant]
	if !ok {
		return turns.Plan{}, fmt.Errorf("assistant %q is not configured", g.Assistant)
	}
	if f, down := h.down.Of("group "+g.Folder, "assistant "+g.Assistant); down {
		return turns.Plan{}, cause.With(cause.Cause(f.Name), errors.New(f.Cause))
	}
	plan := turns.Plan{
		Name: now.Config.Name, Agent: a.Agent, Runtime: now.Runtimes.Of(g), Engines: now.Config.EnginesOf(g),
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
		// Early versions of v1's agent-runner read secrets from the document, later ones only from the
		// environment.
		maps.Copy(plan.Env, plan.Secrets)
	}
	if a.Runtime == "process" {
		// The home of a process is the workspace, where its conversations must not lie.
		plan.Env["LONGSHORE_AGENT_HOME"] = filepath.Dir(h.Layout.Session(g.Folder))
	}
	if len(a.Command) > 0 {
		command, err := json.Marshal(a.Command)
		if err != nil {
			return turns.Plan{}, fmt.Errorf("assistant %q: %w", g.Assistant, err)
		}
		plan.Env["LONGSHORE_AGENT_COMMAND"] = string(command)
	}
	return plan, nil
}

// TranscriptionOf returns a configuration's ways to transcribe, in the order in which they are tried.
func TranscriptionOf(cfg *config.Config) []transcribe.Entry {
	var entries []transcribe.Entry
	for _, t := range cfg.Transcription {
		entries = append(entries, transcribe.Entry{
			URL: t.URL, Model: t.Model, Language: t.Language, Key: t.Key.Reveal(), Command: t.Command, Timeout: t.Timeout.Std(),
		})
	}
	return entries
}

// checkTranscription finds the ways to transcribe that cannot work on this machine.
func checkTranscription(ctx context.Context, cfg *config.Config) (findings []finding.Finding) {
	for i, e := range TranscriptionOf(cfg) {
		if err := transcribe.Check(ctx, e); err != nil {
			findings = append(findings, finding.Finding{
				Name: finding.Transcribe, Part: fmt.Sprint("transcription entry ", i+1), Severity: finding.Warning, Cause: fmt.Sprintf("entry %d, %s, cannot be used: %v", i+1, e.Name(), err),
				Remedy: "start the service, or install the program and what its arguments name; the next entry is tried meanwhile",
			})
		}
	}
	if findings == nil {
		return []finding.Finding{finding.Well("transcription", "every way to transcribe voice notes is there")}
	}
	return findings
}

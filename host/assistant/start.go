package assistant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/internal/cause"
)

// errSentMeanwhile ends a second try before it starts.
var errSentMeanwhile = errors.New("the run that was lost sight of went on and sent something")

// start records the turn and starts its assistant.
func (s *session) start(ctx context.Context, prompt string) error {
	if !s.c.lost.IsZero() && s.m.sentSince(s.c, s.c.lost, nil) {
		return errSentMeanwhile
	}
	if err := s.begin(ctx); err != nil {
		return fmt.Errorf("note thread: %w", err)
	}
	s.inputs.drain() // the directory holds only the assistant's own files: a follow-up of ours never outlives its session
	if err := s.c.store.saveTurn(s.c.thread, s.turn); err != nil {
		return fmt.Errorf("note turn: %w", err)
	}
	registry := s.m.o.Plans.Registry()
	g := s.c.configured()
	manner, err := s.m.mannerOf(g)
	if err != nil {
		return fmt.Errorf("plan assistant: %w", err)
	}
	s.m.mu.Lock()
	s.c.manner, s.c.stale = manner, s.m.o.Plans.Registry() != registry
	s.m.mu.Unlock()
	plan := manner.plan
	s.idleTime, s.turnTime = or(plan.IdleTimeout, s.m.o.IdleTimeout), or(plan.TurnTimeout, s.m.o.TurnTimeout)
	input, err := s.input(g, plan, prompt)
	if err != nil {
		return err
	}
	layout, folder := s.m.o.Layout, g.Folder
	spec := runtime.Spec{
		Group: g, Command: plan.Command, Agent: plan.Agent, Env: plan.Env, Input: input, Mounts: manner.mounts, Thread: s.c.thread,
		WorkDir: layout.Workspace(folder), IPC: layout.IPC(folder, ""),
		Temp: layout.Temp(folder), LogDir: filepath.Join(layout.Logs(), folder), TZ: s.m.o.Plans.Zone(folder).String(),
	}
	if n := s.turn.Place; n > 0 {
		if err := layout.PreparePlace(folder, n); err != nil {
			return err
		}
		spec.Place, spec.Mounts = n, mounts.InPlace(spec.Mounts, layout, folder, n)
		spec.LogDir = filepath.Join(spec.LogDir, strconv.Itoa(n))
	}
	s.child, err = s.launch(ctx, plan.Runtime, spec)
	return err
}

// launch starts the assistant. An engine that takes longer than the chat's patience
// is reported.
func (s *session) launch(ctx context.Context, in runtime.Runtime, spec runtime.Spec) (child runtime.Session, err error) {
	started := make(chan struct{})
	s.helpers.Go(func() {
		defer close(started)
		child, err = in.Start(ctx, spec)
	})
	patience := time.NewTimer(s.m.limits().NoticeAfter)
	defer patience.Stop()
	select {
	case <-started:
	case <-patience.C:
		s.m.mu.Lock()
		told := s.c.told
		s.c.cause, s.c.told, s.c.lastErr = cause.Engine, true, "the start takes long"
		s.m.mu.Unlock()
		s.log.Warn("assistant has trouble", "cause", string(cause.Engine), "error", "the start takes long")
		if !told {
			s.remark(ctx, notThere)
		}
		<-started
	}
	return child, err
}

// begin records which thread this session's requests belong to, and tells a thread if the
// assistant has forgotten it.
func (s *session) begin(ctx context.Context) error {
	keep := s.m.threads(s.c.group)
	if keep == 0 {
		return nil
	}
	s.stamp = s.turn.ID
	forgotten, err := s.c.store.begin(s.turn.ID, s.c.thread, keep)
	if err != nil || !forgotten {
		return err
	}
	if err := s.m.tell(ctx, s.c, startsAnew, key(s.turn.ID, startsAnew)); err != nil {
		return err
	}
	s.turn.Started = now().Add(time.Millisecond) // after the words above, which count as sent
	return nil
}

// input is the document that the assistant reads from stdin, in NanoClaw v1's form. The
// last attempt begins a new conversation, because a session that cannot be resumed would
// break every attempt.
func (s *session) input(g groups.Group, plan Plan, prompt string) ([]byte, error) {
	resume := s.c.store.session(s.c.thread)
	if s.isolated || s.turn.Attempt > 0 && s.turn.Attempt == s.m.o.Attempts-1 {
		resume = ""
	}
	return json.Marshal(struct {
		Prompt    string            `json:"prompt"`
		SessionID string            `json:"sessionId,omitempty"`
		Folder    string            `json:"groupFolder"`
		Chat      string            `json:"chatJid"`
		Main      bool              `json:"isMain"`
		Name      string            `json:"assistantName,omitempty"`
		Secrets   map[string]string `json:"secrets,omitempty"`
		Turn      string            `json:"turn,omitempty"`
		Thread    string            `json:"thread,omitempty"`
		Trouble   bool              `json:"trouble"` // the agent may report trouble
	}{prompt, resume, g.Folder, string(g.Chat), g.Main, plan.Name, plan.Secrets, s.stamp, s.c.thread, true})
}

func (s *session) saveTurn() {
	t := s.turn
	if t.empty() {
		t = nil
	}
	if err := s.c.store.saveTurn(s.c.thread, t); err != nil {
		s.log.Error("turn not noted", "error", err)
	}
}

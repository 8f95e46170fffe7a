package turns

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/internal/cause"
)

// start records the turn and starts its assistant.
func (s *session) start(ctx context.Context, records []*record, prompt string) error {
	if s.lostRunSent() {
		return errSentMeanwhile
	}
	s.inputs.drain() // the directory holds only the assistant's own files: a follow-up of ours never outlives its session
	if err := s.begin(ctx, records); err != nil {
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
		Group: g, Engine: s.c.on.Engine, Command: plan.Command, Agent: plan.Agent, Env: plan.Env, Input: input, Mounts: manner.mounts, Thread: s.c.thread,
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
	if s.child, err = s.launch(ctx, plan.Runtime, spec); err == nil && s.lostRunSent() {
		s.abort()
		return errSentMeanwhile
	}
	return err
}

// lostRunSent reports whether a run that was lost sight of has sent something since, by its
// tools: its outputs are not heard. It is asked again after a start, which has ended that run.
func (s *session) lostRunSent() bool {
	at, c := s.c.lost, s.c.chat
	return !at.IsZero() && (s.m.requestsSince(c, at) > 0 || s.m.o.Chat.AskedSince(c.group.Folder, at))
}

// abort kills an assistant that has just been started.
func (s *session) abort() {
	at, cancel := context.WithCancel(context.Background())
	cancel()
	s.helpers.Go(func() {
		for range s.child.Outputs() { // which nobody gets
		}
	})
	s.child.Stop(at)
	_ = s.child.Wait()
	s.helpers.Wait()
	s.child = nil
}

// begin records the turn with its records, and to which thread the requests of this session
// belong. It tells a thread if the assistant has forgotten it, or begins anew on another engine.
func (s *session) begin(ctx context.Context, records []*record) error {
	also := []inbound.Change{s.c.store.Remembering(messages(records))}
	if on := s.c.on; on.Former != "" { // it does not change while the session runs
		s.log.Warn("the group begins anew on another engine; its workspace and its agent's memory stay on the former one", "engine", on.Engine, "former", on.Former)
		if err := s.m.tell(ctx, s.c, movedOn, inbound.Key(records[0].Key, movedOn)); err != nil {
			return err
		}
		s.turn.Started = now().Add(time.Millisecond) // after the words above, which count as sent
		also = append(also, s.c.store.forgettingSessions())
	}
	if keep := s.m.threads(s.c.group); keep > 0 {
		s.stamp = s.turn.ID
		forgotten, err := s.c.store.wasForgotten(s.c.thread)
		if err == nil && forgotten {
			err = s.m.tell(ctx, s.c, startsAnew, inbound.Key(records[0].Key, startsAnew))
			s.turn.Started = now().Add(time.Millisecond) // after the words above, which count as sent
		}
		if err != nil {
			return err
		}
		also = append(also, s.c.store.beginning(s.stamp, s.c.thread, keep))
	}
	return s.commit(nil, also...)
}

// input is the document that the assistant reads from stdin, in NanoClaw v1's form. The
// last attempt begins a new conversation, because a session that cannot be resumed would
// break every attempt.
func (s *session) input(g groups.Group, plan Plan, prompt string) ([]byte, error) {
	resume, err := s.c.store.agentSession(s.c.thread)
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
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

// commit makes durable, as one change, that records are done, what is left of the turn, the
// agent's session, and what also changes.
func (s *session) commit(done []*record, also ...inbound.Change) error {
	if agent := s.agent; agent != "" {
		also = append(also, s.c.store.savingSession(s.c.thread, agent))
	}
	if s.over && s.stamp != "" {
		also = append(also, s.c.store.ended(s.stamp))
	}
	if !s.turn.empty() || !s.c.began.IsZero() || len(done) > 0 {
		also = append(also, s.c.store.savingTurn(s.turn))
	}
	if err := s.m.finish(s.c.chat, done, also...); err != nil {
		return err
	}
	s.agent = ""
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	if s.c.began = s.turn.Started; s.turn.empty() {
		s.c.began = time.Time{}
	}
	return nil
}

// save is commit that leaves an error to the operator: a later host finds the messages as
// they were.
func (s *session) save(done []*record, also ...inbound.Change) {
	if err := s.commit(done, also...); err != nil {
		s.log.Error("turn not noted", "error", err)
	}
}

// launch starts the assistant. An engine that takes longer than the chat's patience
// is reported.
func (s *session) launch(ctx context.Context, in runtime.Runtime, spec runtime.Spec) (child runtime.Session, err error) {
	started := make(chan struct{})
	s.helpers.Go(func() {
		defer close(started)
		child, err = in.Start(ctx, spec)
	})
	select {
	case <-started:
	case <-time.After(s.m.limits().NoticeAfter):
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

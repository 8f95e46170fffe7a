package assistant

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/runtime"
)

func (s *session) endTurn(out runtime.Output, said bool) {
	s.noTrouble()
	moved := said || s.doing == busy && s.turn.empty()
	if !s.turn.empty() {
		done := s.turn.ended(s.unread(out))
		if err := s.m.finish(s.c.chat, done); err != nil {
			s.log.Error("ended messages not cleared away", "error", err)
		}
		moved = moved || len(done) > 0
		s.turn.Started, s.turn.Attempt = now().Add(time.Millisecond), 0 // after the answer, which counts as sent
		s.saveTurn()
	}
	s.m.mu.Lock()
	if s.c.cause.Permanent() {
		s.m.mended(s.c.configured().Assistant)
	}
	s.c.succeeded()
	s.c.turns.Done = time.Now()
	if moved {
		s.c.turns.Answered++
	}
	s.m.mu.Unlock()
	switch {
	case s.doing >= closing:
	case !moved: // an output that shows nothing and ends nothing does not keep the session alive
	case s.turn.empty():
		s.rest()
	default:
		s.timer.Reset(s.turnTime)
		signal(s.c.nudge) // there may be room for another follow-up
	}
}

// unread returns the follow-ups that an output does not answer: those that it does not
// name or, if it names none, those that are still in the directory.
func (s *session) unread(out runtime.Output) map[string]bool {
	if out.Inputs == nil {
		return s.inputs.unread()
	}
	unread := map[string]bool{}
	for name := range s.turn.Inputs {
		unread[name] = !slices.Contains(out.Inputs, name)
	}
	return unread
}

// settle handles what an ended session leaves: unread messages go to the next session, and
// a turn without an output is broken.
func (s *session) settle(ctx context.Context, err error) {
	if s.halted(ctx) {
		return
	}
	unread := s.turn.unread(s.inputs.drain())
	if s.turn.empty() {
		s.giveBack(unread)
		s.saveTurn()
		if err != nil && !errors.Is(err, runtime.ErrStopped) {
			s.log.Warn("assistant ended badly with nothing to do", "error", err)
		}
		return
	}
	sent := s.m.sentSince(s.c, s.turn.Started, s.turn.Remarks)
	if ctx.Err() != nil {
		// The next host finds the records. It runs them again unless it finds
		// the turn too.
		if !sent {
			s.turn.all()
		}
		s.saveTurn()
		return
	}
	s.broken(ctx, err, sent, unread)
}

// sentSince reports whether a second run of a turn that began then could send something
// twice: the outbox has something of the turn, or a request still lies in the queue. The
// host's own messages, under the keys in remarks, do not count.
func (m *Manager) sentSince(c *conversation, since time.Time, remarks []string) bool {
	if m.o.Chat.SentSince(c.group.Folder, c.thread, since, remarks...) {
		return true
	}
	return m.requestsSince(c.chat, since) > 0
}

// settleInterrupted tells a group's chat about the turn that was lost with an earlier
// host.
func (m *Manager) settleInterrupted(ctx context.Context, c *conversation) {
	t := c.broken
	if t == nil {
		return
	}
	c.broken = nil
	words := gaveUp
	if m.sentSince(c, t.Started, t.Remarks) {
		words = interrupted
	}
	m.o.Log.Warn("turn was lost with an earlier host", "group", c.group.Folder)
	if m.tellOnce(ctx, c, t, words) != nil {
		return
	}
	if err := errors.Join(m.finish(c.chat, t.all()), c.store.saveTurn(c.thread, nil)); err != nil {
		m.o.Log.Error("lost turn not cleared away", "group", c.group.Folder, "error", err)
	}
}

// ended handles the end of a session.
func (m *Manager) ended(c *conversation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.resting, c.yielding, c.ending, c.manner, c.stale = false, false, false, nil, false
	c.halt(nil)
	c.run, c.halt = nil, nil
	c.chat.running--
	m.running--
	m.dismiss(c)
	m.forgetLeft(c.chat)
	signal(m.wake)
}

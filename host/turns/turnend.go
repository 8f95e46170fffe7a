package turns

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/internal/cause"
)

// maxBackoff is the longest wait before an assistant that broke is started again.
const maxBackoff = 5 * time.Minute

// awayBackoff is the longest wait between two checks whether the engine is back.
const awayBackoff = 30 * time.Second

// settle handles what an ended session leaves: unread messages go to the next session, and
// a turn without an output is broken.
func (s *session) settle(ctx context.Context, err error) {
	if s.halted(ctx) {
		return
	}
	unread := s.turn.unread(s.inputs.drain())
	if s.turn.empty() {
		s.save(nil)
		s.giveBack(unread)
		if err != nil && !errors.Is(err, runtime.ErrStopped) {
			s.log.Warn("assistant ended badly with nothing to do", "error", err)
		}
		return
	}
	sent := errors.Is(err, errSentMeanwhile) || s.m.sentSince(s.c, s.turn.Started, s.turn.Remarks)
	if ctx.Err() != nil {
		// The next host finds the records. It runs them again unless it finds
		// the turn too.
		if !sent {
			s.turn.takeAll()
		}
		s.save(nil)
		return
	}
	s.broken(ctx, err, sent, unread)
}

// causeOf classifies the error that ended the turn of a session.
func (s *session) causeOf(err error) cause.Cause { return s.budgeted(s.ended(err)) }

// budgeted is the cause of a failure that the assistant describes. Agent CLIs have words of
// their own for a budget that is used up; the host knows.
func (s *session) budgeted(why cause.Cause) cause.Cause {
	switch why {
	case cause.Credit, cause.Busy, cause.Failed, cause.Stopped:
		if s.m.o.Plans.OverBudget(s.c.group.Folder) {
			return cause.Budget
		}
	}
	return why
}

func (s *session) ended(err error) cause.Cause {
	switch known := cause.Of(err); {
	case errors.Is(err, runtime.ErrOutOfMemory):
		return cause.Memory
	case s.why != "":
		return s.why
	case s.fault != "":
		return cause.Failed
	case known != "":
		return known
	case s.child == nil:
		return cause.Failed
	}
	return cause.Stopped
}

func (s *session) reason(err error) string {
	switch {
	case s.fault != "" && errors.Is(err, runtime.ErrOutOfMemory):
		return s.fault + "; " + err.Error()
	case s.fault != "":
		return s.fault
	case err != nil:
		return err.Error()
	}
	return "it ended without an output"
}

// nowhere reports whether a session did not start because no engine runs.
func (s *session) nowhere(err error) bool {
	return s.child == nil && errors.Is(err, runtime.ErrAway)
}

// broken reports a turn without an output to the chat and the operator, and retries it if
// a second run cannot send anything twice. A start that failed because no engine runs is
// not an attempt.
func (s *session) broken(ctx context.Context, err error, sent bool, unread []*record) {
	c, m, reason, why := s.c, s.m, s.reason(err), s.causeOf(err)
	free := s.nowhere(err) || why.Permanent() // it was no attempt: it waits until the cause is gone
	again := !sent && !s.slow && (free || s.turn.Attempt+1 < m.o.Attempts)
	m.mu.Lock()
	tell, wait := c.failed(m.o, why, again)
	c.notBefore, c.lastErr = time.Now().Add(wait), reason
	c.turns.Broke, c.turns.Trouble = time.Now(), cmp.Or(string(why), reason)
	c.turns.Broken++
	if s.trouble.cause != why { // else it is counted since it began
		m.troubles[why]++
	}
	m.mu.Unlock()
	s.log.Error("assistant broke off", "error", reason, "cause", string(why), "attempt", s.turn.Attempt+1, "again", again, "wait", wait.String(),
		"hint", "see "+filepath.Join(m.o.Layout.Logs(), c.group.Folder, "assistant.log"))
	if tell {
		if s.tell(ctx, s.words(why, cause.Package(err), again, sent)) != nil && !again {
			return // turn and records stay, and a later host tells
		}
	}
	if again && errors.Is(err, runtime.ErrLost) {
		c.lost = s.turn.Started
	}
	attempt, records := s.turn.Attempt+1, s.turn.takeAll()
	if free {
		attempt--
	}
	var over []*record
	if !again {
		attempt, c.lost = 0, time.Time{}
		records, over = nil, records
	}
	s.save(over)
	m.mu.Lock()
	c.attempt = attempt
	m.mu.Unlock()
	s.giveBack(append(records, unread...))
}

// failed counts a broken turn. It returns whether the chat should be told, and how long
// the next attempt waits.
func (c *conversation) failed(o Options, why cause.Cause, again bool) (tell bool, wait time.Duration) {
	c.failures++
	wait = backoff(o.Backoff, c.failures, maxBackoff)
	switch {
	case again && why.Permanent():
		c.probes++
		wait = backoff(o.Probe, c.probes, maxProbe)
		tell = c.probes == 1 || c.cause != why // "still trying" said nothing of an operator
	case why == cause.Engine:
		wait = min(wait, awayBackoff)
	}
	if !why.Permanent() {
		c.probes = 0
	}
	tell = tell || !again || !c.told
	c.told, c.cause = c.told || again, why
	return tell, wait
}

// tell sends a message of the host to the chat, once per turn and text. If messages wait
// for an operator, the chat is told once, even over a restart.
func (s *session) tell(ctx context.Context, words string) error {
	id := s.turn.ID
	if s.c.cause.Permanent() && len(s.turn.IDs) > 0 {
		id = s.turn.records[s.turn.IDs[0]].Key
	}
	return s.m.tell(ctx, s.c, words, inbound.Key(id, words))
}

func (s *session) words(why cause.Cause, missing string, again, sent bool) string {
	switch {
	case again && why.Permanent():
		return waitsFor(why, missing, s.m.limits().Hold)
	case again:
		return retryWords(why)
	case s.slow && why == cause.Slow:
		return tookTooLong
	case s.slow:
		return tooLong(why)
	case sent && (why == cause.Stopped || why == cause.Failed || why == cause.Memory || why == cause.Engine):
		return interrupted
	case sent:
		return brokeOff(why)
	case why == cause.Memory:
		return outOfMemory
	case why == cause.Stopped || why == cause.Failed || why == cause.Engine:
		return gaveUp
	}
	return isGivenUp(why)
}

// retryWords says that a broken turn is retried.
func retryWords(why cause.Cause) string {
	switch why {
	case cause.Engine:
		return notThere
	case cause.Memory:
		return outOfRoom
	case cause.Stopped:
		return tryingAgain
	case cause.Failed:
		return failedOnce
	}
	return triesAgain(why)
}

func (s *session) giveBack(records []*record) {
	s.m.mu.Lock()
	s.c.giveBack(records)
	s.m.mu.Unlock()
}

func backoff(first time.Duration, failures int, most time.Duration) time.Duration {
	wait := first
	for range failures - 1 {
		if wait *= 2; wait >= most {
			return most
		}
	}
	return wait
}

// errSentMeanwhile ends a second try before it starts.
var errSentMeanwhile = errors.New("the run that was lost sight of went on and sent something")

// halted handles the end of a session that a member stopped: its turn is not retried.
func (s *session) halted(ctx context.Context) bool {
	if !ordered(ctx) {
		return false
	}
	s.inputs.drain()
	s.c.lost = time.Time{}
	s.m.mu.Lock()
	anew := s.c.anew
	s.c.anew = false
	s.c.succeeded()
	s.m.mu.Unlock()
	var also []inbound.Change
	if s.agent = ""; anew {
		also = append(also, s.c.store.forgettingSession(s.c.thread))
	}
	s.save(s.turn.takeAll(), also...)
	return true
}

package turns

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/internal/cause"
)

// backAfter is how long a model that answers again may take for its answer before
// the chat is told that it does.
const backAfter = 10 * time.Second

// Reports of trouble beyond these are left out: the next one says the same.
const (
	reportBurst = 10
	reportEvery = 5 * time.Second
)

// trouble is what keeps the turn of a session from its answer, as far as the
// assistant reports it. It is the session's own.
type trouble struct {
	cause cause.Cause // empty: nothing
	since time.Time   // zero: none yet. Trouble that comes back within the chat's patience is the same
	ended time.Time   // the last time
	due   *time.Timer // until the chat is told of the trouble, or of its end
	rate  *rate.Limiter
}

func newTrouble() *trouble {
	t := &trouble{due: time.NewTimer(time.Hour), rate: rate.NewLimiter(rate.Every(reportEvery), reportBurst)}
	t.due.Stop()
	return t
}

// report takes a report of the assistant's. Operator, metrics and log know at once;
// the chat is told if the trouble lasts.
func (s *session) report(out runtime.Output) {
	if s.doing != isBusy || !s.trouble.rate.Allow() {
		return
	}
	now, was := s.budgeted(cause.Parse(out.Cause)), s.trouble.cause
	s.trouble.cause = now
	s.m.mu.Lock()
	s.c.cause, s.c.lastErr = now, inbound.Cut(out.Error, 500)
	if now != "" && now != was {
		s.m.troubles[now]++
	}
	s.m.mu.Unlock()
	if now != "" && now != was {
		s.log.Warn("assistant has trouble", "cause", string(now), "error", inbound.Cut(out.Error, 500))
	}
	switch {
	case now == was:
	case now == "":
		s.log.Info("assistant has no trouble any more")
		s.trouble.ended = time.Now()
		s.trouble.due.Reset(backAfter)
	case was == "":
		patience := s.m.limits().NoticeAfter
		s.trouble.begin(time.Duration(min(max(out.Seconds, 0), 3600))*time.Second, patience)
		s.trouble.due.Reset(max(time.Until(s.trouble.since.Add(patience)), 0))
	}
}

// begin takes note of trouble that has lasted for a while.
func (t *trouble) begin(waited, patience time.Duration) {
	if t.since.IsZero() || time.Since(t.ended) > patience {
		t.since = time.Now().Add(-waited)
	}
}

// tellTrouble tells the chat of the trouble, or that it is over.
func (s *session) tellTrouble(ctx context.Context) {
	s.m.mu.Lock()
	told, now := s.c.told, s.trouble.cause
	s.c.told = now != ""
	s.m.mu.Unlock()
	switch {
	case now != "" && !told:
		s.remark(ctx, stillTrying(now))
	case now == "" && told:
		s.trouble.since = time.Time{}
		s.remark(ctx, answersAgain)
	}
}

// remark says something in the host's own words while the turn goes on. It does not
// count as sent by the turn.
func (s *session) remark(ctx context.Context, words string) {
	id := inbound.Key(s.turn.ID, words, fmt.Sprint(len(s.turn.Remarks)))
	s.turn.Remarks = append(s.turn.Remarks, id)
	s.save(nil) // before it is said: a host that dies in between must know it
	s.m.answer(ctx, s.c, words, id)
}

// noTrouble takes note that the turn has an answer.
func (s *session) noTrouble() {
	s.trouble.cause, s.trouble.since = "", time.Time{}
	s.trouble.due.Stop()
}

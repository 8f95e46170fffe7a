package live

import (
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// Wait returns how long a tool waits for the result of a request.
func (c *Current) Wait() time.Duration { return c.Config().Limits.Wait.Std() }

// FreeDisk returns how many bytes of the disk must stay free.
func (c *Current) FreeDisk() int64 { return int64(c.Config().Limits.FreeDisk) }

// KeepResults returns how long results stay.
func (c *Current) KeepResults() time.Duration { return c.Config().Limits.KeepResults.Std() }

// Quota returns how many bytes of a group may be in the outbox, or arrive for it at the same time.
func (c *Current) Quota() int64 { return int64(c.Config().Limits.Outbox) }

// QueueKeeps returns how long the queue keeps results and refused requests.
func (c *Current) QueueKeeps() spool.Keep {
	l := c.Config().Limits
	return spool.Keep{Results: l.KeepResults.Std(), Errors: l.KeepErrors.Std()}
}

// OutboxLimits returns the outbox's bounds.
func (c *Current) OutboxLimits() outbox.Limits {
	l := c.Config().Limits
	return outbox.Limits{
		MaxAge:   l.Retry.MaxAge.Std(),
		Backoff:  outbox.Backoff{Initial: l.Retry.First.Std(), Max: l.Retry.Max.Std()},
		Parallel: l.Sends, QuotaPending: l.Pending, QuotaBytes: int64(l.Outbox), FreeDisk: int64(l.FreeDisk), Retention: l.KeepResults.Std(),
	}
}

// SendRate returns how fast a group may send; for a removed group, whose deliveries are still sent, the
// rate of a group that states none.
func (c *Current) SendRate(folder string) outbox.Rate {
	now := c.Now()
	r := now.Config.Limits.Rate
	if g, ok := now.Registry.ByFolder(folder); ok {
		r = g.Rate
	}
	return outbox.Rate{PerMinute: float64(r.PerMinute), Burst: r.Burst}
}

// AuditKeeps returns the age at which a file of the audit trail is deleted; 0: never.
func (c *Current) AuditKeeps() time.Duration { return c.Config().Audit.Keep.Std() }

// AuditLeavesOut returns the fields that entries of the audit trail leave out.
func (c *Current) AuditLeavesOut() []string { return c.Config().Audit.LeaveOut }

// LinkTerms returns the terms of the first channel that offers links.
func (c *Current) LinkTerms() (channel.LinkTerms, bool) {
	for _, one := range c.Config().Channels {
		if s, can := one.Settings.(channel.LinkSettings); can {
			if terms, ok := s.Links(); ok {
				return terms, true
			}
		}
	}
	return channel.LinkTerms{}, false
}

package outbox

import (
	"fmt"

	"github.com/longshore-bridge/longshore/media"
)

// Load is a number of messages and the bytes of their files.
type Load struct {
	Parts int
	Bytes int64
}

// usage is what a group has in the outbox.
type usage struct {
	parts    int
	bytes    int64 // of open parts
	retained int64 // of failed parts whose bytes are kept for a retry
}

// Room says whether a group may add more: nil, or a *FullError, which passes.
// ahead is what the caller has accepted from the group and not yet handed to
// Put. A single request that is larger than the whole quota has room when
// nothing else of the group waits.
func (o *Outbox) Room(folder string, ahead, more Load) error {
	o.mu.Lock()
	if u := o.usage[folder]; u != nil {
		ahead.Parts += u.parts
		ahead.Bytes += u.bytes
	}
	o.mu.Unlock()
	if ahead.Parts > 0 && ahead.Parts+more.Parts > o.opts.QuotaPending {
		return &FullError{
			Code:    "over_quota",
			Message: fmt.Sprintf("%d messages of this group are still waiting to be sent, at most %d may", ahead.Parts, o.opts.QuotaPending),
			Hint:    "it is taken by itself once earlier ones are sent; do not call again",
		}
	}
	if ahead.Bytes > 0 && ahead.Bytes+more.Bytes > o.opts.QuotaBytes {
		return &FullError{
			Code: "over_quota",
			Message: fmt.Sprintf("%s of this group's files are still waiting to be sent, at most %s may",
				media.Size(ahead.Bytes), media.Size(o.opts.QuotaBytes)),
			Hint: "it is taken by itself once earlier ones are sent; do not call again",
		}
	}
	free, err := freeSpace(o.opts.Dir)
	if err != nil {
		return fmt.Errorf("ask for free space: %w", err)
	}
	if o.opts.FreeDisk >= 0 && free-more.Bytes < o.opts.FreeDisk {
		return &FullError{
			Code:    "disk_full",
			Message: "the host's disk is nearly full",
			Hint:    "it is taken by itself once the operator has made room; do not call again",
		}
	}
	return nil
}

// charge counts an open part of a group, or with sign -1 no longer does; the
// caller holds mu.
func (o *Outbox) charge(folder string, p *Part, sign int) {
	u := o.usage[folder]
	if u == nil {
		u = &usage{}
		o.usage[folder] = u
	}
	u.parts += sign
	u.bytes += int64(sign) * p.size()
	if *u == (usage{}) {
		delete(o.usage, folder)
	}
}

// retain counts, or with sign -1 discounts, the bytes of a failed part; the
// caller holds mu.
func (o *Outbox) retain(folder string, bytes int64, sign int) {
	u := o.usage[folder]
	if u == nil {
		u = &usage{}
		o.usage[folder] = u
	}
	u.retained += int64(sign) * bytes
	if *u == (usage{}) {
		delete(o.usage, folder)
	}
}

package outbox

import (
	"errors"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
)

// deadline is when a delivery is given up: MaxAge after it was accepted, and
// later by the time that its channel was held since; the caller holds mu.
func (o *Outbox) deadline(it *item, now time.Time) time.Time {
	held := o.line(it.Channel).hold.until(now) - it.held
	return it.Created.Add(o.opts.MaxAge + max(0, held))
}

// acknowledged is the platform's word that it has the part.
func (o *Outbox) acknowledged(it *item, p Part, r channel.Receipt) verdict {
	o.opts.Trace(it.Folder, it.Request, "acknowledged")
	p.State, p.Receipt = Sent, receiptOf(r)
	p.Code, p.Message, p.Hint, p.Next = "", "", "", time.Time{}
	return verdict{part: p}
}

// failed ends a part that the channel will never take. It is uncertain where
// an earlier attempt may have been shown.
func failed(p Part, err error) verdict {
	p.State, p.Next = Failed, time.Time{}
	if p.Code == codeAmbiguous {
		p.State = Uncertain
	}
	p.Code, p.Message, p.Hint = words(err)
	return verdict{part: p}
}

// expired ends a part whose time is over.
func (o *Outbox) expired(p Part) verdict {
	p.State, p.Next = Failed, time.Time{}
	met := ""
	if p.Message != "" {
		met = "; the last attempt met: " + p.Message
	}
	p.Message = fmt.Sprintf("it could not be sent within %v%s", o.opts.MaxAge, met)
	p.Hint = "ask the operator whether the channel works, then call again"
	if p.Code == codeAmbiguous {
		p.State = Uncertain
		p.Message = "the platform never said whether it was shown"
		p.Hint = "look into the chat before you send it again"
	}
	p.Code = codeDeadline
	return verdict{part: p}
}

// later is an attempt that brought nothing yet. Code remembers, over further
// attempts and over a crash, that an earlier one may have been shown.
func (o *Outbox) later(it *item, p Part, err error, due time.Time) verdict {
	o.opts.Log.Info("a send waits", "group", it.Folder, "request", it.Request, "chat", it.Chat,
		"channel", it.Channel, "attempts", p.Attempts, "error", err)
	class := channel.ClassOf(err)
	doubtful := p.Code == codeAmbiguous || class == channel.Ambiguous
	wait := o.opts.Backoff.after(p.Attempts)
	p.State = Queued
	p.Code, p.Message, p.Hint = words(err)
	if doubtful {
		p.Code = codeAmbiguous
		o.mu.Lock()
		it.doubt = true
		o.mu.Unlock()
	}
	if class == channel.Held {
		p.Attempts = max(0, p.Attempts-1)
		return verdict{part: p, hold: true}
	}
	now := time.Now()
	if !now.Before(due) {
		return o.expired(p)
	}
	var e *channel.Error
	if errors.As(err, &e) && e.RetryAfter > wait {
		wait = e.RetryAfter
	}
	p.Next = now.Add(wait)
	if p.Next.After(due) {
		p.Next = due
	}
	return verdict{part: p}
}

// ambiguous makes an error of unknown outcome.
func ambiguous(err error) error {
	return &channel.Error{Class: channel.Ambiguous, Code: codeAmbiguous,
		Message: "the platform did not say whether it took the message", Err: err}
}

// words are what the agent may read of an error: a channel's own words, or
// none of its details, which may name what is the host's alone.
func words(err error) (code, message, hint string) {
	var e *channel.Error
	if errors.As(err, &e) && e.Message != "" {
		return or(e.Code, codeFailed), e.Message, e.Hint
	}
	return codeFailed, "the channel could not send it", ""
}

package link

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
)

// Connected implements channel.Status.
func (l *Link) Connected() (ok bool, detail string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.stop != nil:
		return false, l.stop.Error()
	case l.detail == "":
		return false, "not running"
	}
	return l.up, l.detail
}

// Held returns the error of a Send while the connection is stopped, a
// *channel.Error of class Held; nil if it is not stopped.
func (l *Link) Held() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop == nil {
		return nil
	}
	return &channel.Error{Class: channel.Held, Code: l.stop.Code, Message: l.stop.Message,
		Hint: "it is sent as soon as the operator has seen to it: " + l.stop.Hint}
}

// Lost returns the error of a Send while the connection to a platform is down.
// The error is temporary. cause is for the log, and may be nil.
func Lost(platform string, cause error) error {
	return &channel.Error{Class: channel.Passing, Code: "not_connected", Message: "the host is not connected to " + platform,
		Hint: channel.Again, Err: cause}
}

// LongestWait is how long a platform's wish to wait is believed.
const LongestWait = time.Hour

// Slow returns the error of a Send while a platform, or the host's own rate for it, wants the
// host to wait. The error is temporary. cause is for the log, and may be nil.
func Slow(platform string, wait time.Duration, cause error) error {
	return &channel.Error{Code: "rate_limited", Message: platform + " takes only so much at once", Hint: channel.Again,
		RetryAfter: min(max(wait, 0), LongestWait), Err: cause}
}

// StopOf returns an error of class Held as a *Stop, which tries again soon. Other
// errors, and nil, are returned unchanged.
func StopOf(err error) error {
	var e *channel.Error
	if !errors.As(err, &e) || e.Class != channel.Held {
		return err
	}
	return &Stop{Code: e.Code, Message: e.Message, Hint: e.Hint, Detail: strings.TrimPrefix(fmt.Sprint(e.Err), "<nil>"), Wait: After(tryAgain)}
}

// Up reports whether the connection is up.
func (l *Link) Up() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.up
}

// Wait waits until the connection is up, for at most timeout. Otherwise it returns the error for a
// Send, or that of ctx. alive, if not nil, checks that a connection that is up still works: a
// library may know of a loss before it reports it.
func (l *Link) Wait(ctx context.Context, timeout time.Duration, alive func() bool) error {
	timer := time.After(timeout)
	for {
		l.mu.Lock()
		up, changed := l.up, l.changed
		l.mu.Unlock()
		if up && (alive == nil || alive()) {
			return nil
		}
		if err := l.Held(); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-timer:
			return Lost(l.platform, nil)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

package memory

import (
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
)

// Fault is how one Send of a [Channel] goes wrong. The zero Fault is none. The
// parts happen in the order of the fields.
type Fault struct {
	Delay   time.Duration   // passes first
	Wait    <-chan struct{} // then Send waits until it is closed
	Offline bool            // then the connection is lost, until Reconnect
	Break   int64           // the upload breaks after so many bytes of the file: a passing error
	Shown   bool            // the message appears in spite of what follows
	Hang    bool            // Send waits until its ctx is done
	Err     error           // what Send returns
}

// Slow is a Send that takes d and goes well.
func Slow(d time.Duration) Fault { return Fault{Delay: d} }

// Until is a Send that waits for a signal and goes well.
func Until(ready <-chan struct{}) Fault { return Fault{Wait: ready} }

// Passing is a Send that fails before anything is shown, and may be repeated.
func Passing() Fault {
	return failing(channel.Passing, "unavailable", "the platform is not available")
}

// RetryAfter is a Passing failure whose platform wants to be left alone for d.
func RetryAfter(d time.Duration) Fault {
	f := failing(channel.Passing, "rate_limited", "the platform takes no more for a while")
	f.Err.(*channel.Error).RetryAfter = d
	return f
}

// Permanent is a Send that fails for good.
func Permanent() Fault {
	return failing(channel.Permanent, "not_a_member", "the account is no member of the chat")
}

// Refused is a Send whose form the platform refuses; empty: its content.
func Refused(form channel.Form) Fault {
	f := failing(channel.Permanent, "refused", "the platform does not take it so")
	f.Err.(*channel.Error).Form = form
	return f
}

// Held is a Send through a channel that waits for its operator.
func Held() Fault { return failing(channel.Held, "logged_out", "the account is logged out") }

// AmbiguousBefore is a Send whose answer got lost, and with it the message.
func AmbiguousBefore() Fault {
	return failing(channel.Ambiguous, "no_answer", "the platform did not answer")
}

// AmbiguousAfter is a Send whose answer got lost after the message was shown.
func AmbiguousAfter() Fault {
	f := AmbiguousBefore()
	f.Shown = true
	return f
}

// Hanging is a Send that never ends by itself; nothing is shown.
func Hanging() Fault { return Fault{Hang: true} }

func failing(class channel.Class, code, message string) Fault {
	return Fault{Err: &channel.Error{Class: class, Code: code, Message: message, Hint: "see the channel's status"}}
}

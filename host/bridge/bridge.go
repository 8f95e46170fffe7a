// Package bridge is the whole road of a request, in both directions: from the
// spool into the outbox, and the result back.
//
// [Bridge.Run] pulls at both ends: batches of requests from the spool, and
// deliveries that changed from the outbox. Each step of accepting a request
// takes a weaker type and makes a stronger one: a claimed chat becomes a
// groups.Address, a container's path becomes an open file, that file becomes
// media.Info and an outbox.Blob. All refusals are made here or before; after
// the outbox has the record, only sending can still fail.
//
// The package keeps no state. It does not read the queue's directories, and it
// does not send.
package bridge

import (
	"errors"
	"log/slog"
	"time"

	"github.com/longshore-bridge/longshore/internal/refusal"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/screen"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
	"github.com/longshore-bridge/longshore/media/convert"
)

// Options is what a Bridge works with. Registry and Channels are needed;
// Examine needs no more, Run needs all but Log and Trace. What the operator may
// change while the host runs is a function, and asked at each use: Registry once for
// each request, Mounts for each of its files, Screen
// and Zone for each request, Wait for each result.
type Options struct {
	Registry func() *groups.Registry
	Mounts   func(folder string) *mounts.Map // nil: no such group is configured any more
	Channels []channel.Channel
	Outbox   *outbox.Outbox
	Spool    *spool.Spool
	Wait     func() time.Duration               // how long a tool waits for its result
	Answers  Answerer                           // of calls; nil: all are refused
	Convert  *convert.Converter                 // nil: files go as they are
	Screen   func() (deny, ask *screen.Screen)  // which files may not leave, and which wait for an approval; nil, or nil results: none
	Zone     func(folder string) *time.Location // of a group's hours; nil: UTC
	Links    func() *Links                      // how files too large for a chat become links; nil, or a nil result: they do not

	// Approvers is the folder of the group in whose chat members are asked for approvals;
	// nil, or an empty result: only the operator is.
	Approvers func() string
	MayAsk    func(folder string) bool // whether the session of a group elsewhere may ask them for permissions; nil: none may

	Lost func() error // why nothing may be accepted now beside a lack of room, which passes; nil, or a nil result: nothing

	Audit *audit.Log // notes what became of deliveries; nil: nobody does

	Log   *slog.Logger                       // nil discards
	Trace func(folder, request, step string) // may be nil
}

// Bridge accepts requests. Its methods may be called from several goroutines.
type Bridge struct {
	Options
	permissions permissions
}

// New returns a bridge. It owns nothing of what it is given.
func New(o Options) *Bridge {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Trace == nil {
		o.Trace = func(string, string, string) {}
	}
	if o.Lost == nil {
		o.Lost = func() error { return nil }
	}
	return &Bridge{Options: o}
}

// finalRefusal is the refusal of an error that will not pass, or nil.
func finalRefusal(err error) *ipc.Refusal {
	if _, full := errors.AsType[*outbox.FullError](err); full {
		return nil
	}
	return AsRefusal(err)
}

// AsRefusal returns the refusal that err is, or nil where it is none.
func AsRefusal(err error) *ipc.Refusal {
	var own *ipc.Refusal
	if errors.As(err, &own) {
		return own
	}
	if r := refusal.Of(err); r != nil {
		return &ipc.Refusal{Code: r.Code, Message: r.Message, Hint: r.Hint}
	}
	return nil
}

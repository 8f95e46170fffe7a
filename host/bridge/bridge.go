// Package bridge carries requests in both directions: from the spool into the
// outbox, and their results back.
//
// [Bridge.Run] pulls at both ends: batches of requests from the spool, and
// deliveries that changed from the outbox. Each step of accepting a request
// takes a weaker type and makes a stronger one: a claimed chat becomes a
// destination, a container's path an open file, and that file media.Info and an
// outbox.Blob. All refusals are made here or before; once the outbox has the
// record, only sending can fail.
//
// The outbox and the spool keep everything: the bridge has no state of its own.
package bridge

import (
	"cmp"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/screen"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
	"github.com/longshore-bridge/longshore/media/convert"
)

// Options are the parts that a Bridge works with. Examine needs Settings and Channels
// only; Run needs all but those whose comment allows nil.
type Options struct {
	Settings
	Channels  []channel.Channel
	Outbox    *outbox.Outbox
	Spool     *spool.Spool
	Answers   Answerer           // answers calls; nil: all are refused
	Convert   *convert.Converter // nil: files are sent as they are
	Addresses Addresses          // needed if Settings offer links
	State     State
	Audit     *audit.Log // records what became of deliveries; nil: nothing does

	Log   *slog.Logger                       // nil discards
	Trace func(folder, request, step string) // may be nil
}

// Settings are what the configuration in force says: *live.Current. The operator may change it while the
// host runs, so the bridge asks at each use: for Registry once a batch and once a request,
// for Mounts at each file, for Wait at each result.
type Settings interface {
	Registry() *groups.Registry
	Mounts(folder string) *mounts.Map              // what a group's container sees; nil: no such group is configured
	Screens() (deny, ask *screen.Screen)           // which files may not leave, and which wait for an approval; nil: none
	Zone(folder string) *time.Location             // of a group's hours; nil: UTC
	LinkTerms() (terms channel.LinkTerms, ok bool) // how files too large for a chat become links, if they do
	Wait() time.Duration                           // how long a tool waits for its result
	MayApprove(ids ...string) bool                 // whether a member's answer to the approvers' questions counts, by the ids that the platform vouches for
	Approvers() string                             // the folder of the group whose chat is asked for approvals; empty: only the operator is asked
	MayAsk(folder string) bool                     // whether the session of a group elsewhere may ask the approvers for permissions
}

// State watches the files of the host's state: *serve.Host. LostFiles returns an error with those that
// were deleted or replaced while the host runs. Until they are back nothing is accepted.
type State interface{ LostFiles() error }

// Addresses makes the addresses of links: *links.Keys.
type Addresses interface {
	Address(url, id string, expires time.Time) (string, error)
}

// Bridge accepts requests. Its methods may be called from several goroutines.
type Bridge struct {
	Options
	began  time.Time
	asking sync.Mutex // held while a permission is counted and recorded
	mu     sync.Mutex
	news   chan struct{} // closed by the next answer; mu guards it
}

// New returns a bridge. It owns nothing of what it is given.
func New(o Options) *Bridge {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Trace == nil {
		o.Trace = func(string, string, string) {}
	}
	return &Bridge{Options: o, began: time.Now(), news: make(chan struct{})}
}

// finalRefusal returns the refusal of an error that does not pass, else nil.
func finalRefusal(err error) *ipc.Refusal {
	if _, full := errors.AsType[*outbox.FullError](err); full {
		return nil
	}
	return AsRefusal(err)
}

// AsRefusal returns the refusal that err is or wraps, else nil.
func AsRefusal(err error) *ipc.Refusal {
	if own, ok := errors.AsType[*ipc.Refusal](err); ok {
		return own
	}
	if r := refusal.Of(err); r != nil {
		return &ipc.Refusal{Code: r.Code, Message: r.Message, Hint: r.Hint}
	}
	return nil
}

func notSupported(message string) *ipc.Refusal {
	return &ipc.Refusal{Code: "not_supported", Message: message, Hint: "do without it; chat_info says what this chat can do"}
}

// Package outbox keeps accepted deliveries and sends them.
//
// From Put on, a delivery is durable: its record in SQLite, its bytes there too or,
// if they are many, as files beside it. The parts of a chat's deliveries go out in the order of
// acceptance, one at a time, through the channel that owns the chat, and no
// chat waits for another. Passing errors are retried with the same message id,
// permanent ones end a part, and [Outbox.NextChanges] hands out every delivery that
// changed, after the change is durable.
//
// Records and bytes lie in the host's state, see packages records and state.
//
// # Where to read
//
// The files follow a delivery's life:
//
//	outbox.go   the options
//	open.go     start and recovery; the locks
//	put.go      acceptance
//	lane.go     the chats that wait
//	dispatch.go which chat is next
//	attempt.go  one attempt at one part
//	together.go several parts in one call, and what is sent in the commit that accepts it
//	outcome.go  the outcome of an attempt, and its record
//	ask.go      what people are asked, and their answers
//	act.go      parts that change a message
//	receipt.go  later reports about a part
//	changes.go  reports of changes to the bridge
//	approval.go what waits for somebody's yes
//	link.go     files behind addresses, for chats that do not take their size
//	operate.go  the operator's actions, and expiry
//	read.go     lists and figures
//
// # What a crash leaves
//
// A small file's bytes are in the database, and come and go with the record that
// names them. A larger file is written and synced before the record that names it,
// and removed after the record that no longer needs it; the state moves the files that no
// record names aside when it opens, for a week. A record in state queued was accepted. Most
// channels show the same message id once, so their parts are simply sent again:
// nothing needs to be written before the attempt, and outcomes are recorded in
// groups while the chat's next parts already go out. For a channel that
// promises less the part is durably marked as in doubt before each attempt, and
// a clear answer takes the mark away. A part in doubt is resolved before it is
// sent again: a [channel.Finder] is asked; a platform with keys has the same id
// again as long as it knows the id. If neither helps, the part ends as
// uncertain. The messages of a [channel.StateSender] and their outcomes are one
// commit: no part is in doubt there. If nothing of the chat waits, and no large file is to
// be copied, that is the commit that accepts them.
//
// The package does not decide who may send what, and it never opens a
// workspace: the bytes come from the file that the bridge opened.
package outbox

import (
	"cmp"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/state"
)

// Options says how an outbox works. Only State is needed: every other zero value
// stands for the default that its comment names.
type Options struct {
	State    *state.DB
	Channels []channel.Channel // found by Delivery.Channel
	Log      *slog.Logger      // nil discards

	// Trace is called at each step of a part: "sending", "acknowledged",
	// "settled" (its outcome is recorded). It may be called from several goroutines.
	Trace func(folder, request, step string)

	Settings Settings // nil: the defaults

	// Sweep is closed when records may be deleted that have ended longer ago than Retention; nil: at once.
	Sweep <-chan struct{}

	SendTimeout time.Duration // for one attempt, on top of a second per 128 KiB of file; 1 min
	Stall       time.Duration // without progress, after which a send no longer counts as one of Parallel; 10 s
	HoldFor     time.Duration // between attempts on a held channel that has no Status; 30 s
}

// Settings are asked at each use: an operator may change the answers while the outbox runs.
// They must not wait.
type Settings interface {
	OutboxLimits() Limits
	SendRate(folder string) Rate // of a group's attempts; a zero Rate: unlimited
}

// Fixed are Settings that never change.
type Fixed struct {
	Limits Limits
	Rate   Rate // of each group
}

// OutboxLimits implements Settings.
func (f Fixed) OutboxLimits() Limits { return f.Limits }

// SendRate implements Settings.
func (f Fixed) SendRate(string) Rate { return f.Rate }

// Limits bound what waits, and how long and how often it is tried. Zero values
// stand for the defaults that the comments name.
type Limits struct {
	Backoff      Backoff
	MaxAge       time.Duration // from acceptance to giving up, time held not counted; 24 h
	Parallel     int           // sends in flight per channel; 4
	QuotaPending int           // open parts per group; 64
	QuotaBytes   int64         // of the open files of a group, and once more of its failed ones; 256 MiB
	FreeDisk     int64         // bytes of the disk that are never used; 0: none
	Retention    time.Duration // of the records of deliveries that ended, and of the bytes of failed parts; 7 days
}

// Backoff is how long a chat waits after an error that passes: Initial, times Multiplier
// for each further attempt, at most Max, randomly moved by up to the fraction Jitter.
type Backoff struct {
	Initial    time.Duration // 1 s
	Max        time.Duration // 5 min
	Multiplier float64       // 2
	Jitter     float64       // 0.2; negative for none
}

// after returns the wait that follows the given attempt, counted from 1.
func (b Backoff) after(attempt int) time.Duration {
	d := float64(b.Initial) * math.Pow(b.Multiplier, float64(max(attempt, 1)-1))
	d = min(d, float64(b.Max))
	if b.Jitter > 0 {
		d *= 1 + b.Jitter*(2*rand.Float64()-1)
	}
	return time.Duration(d)
}

// Rate bounds a group's attempts to send.
type Rate struct {
	PerMinute float64 // 0: unlimited
	Burst     int     // at least 1
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Trace == nil {
		o.Trace = func(string, string, string) {}
	}
	if o.Settings == nil {
		o.Settings = Fixed{}
	}
	o.SendTimeout = cmp.Or(o.SendTimeout, time.Minute)
	o.Stall = cmp.Or(o.Stall, 10*time.Second)
	o.HoldFor = cmp.Or(o.HoldFor, 30*time.Second)
	return o
}

// limits returns the limits as they are now.
func (o *Outbox) limits() Limits {
	l := o.opts.Settings.OutboxLimits()
	l.MaxAge = cmp.Or(l.MaxAge, 24*time.Hour)
	l.Parallel = cmp.Or(l.Parallel, 4)
	l.QuotaPending = cmp.Or(l.QuotaPending, 64)
	l.QuotaBytes = cmp.Or(l.QuotaBytes, 256<<20)
	l.Retention = cmp.Or(l.Retention, 7*24*time.Hour)
	l.Backoff.Initial = cmp.Or(l.Backoff.Initial, time.Second)
	l.Backoff.Max = cmp.Or(l.Backoff.Max, 5*time.Minute)
	l.Backoff.Multiplier = cmp.Or(l.Backoff.Multiplier, 2)
	l.Backoff.Jitter = cmp.Or(l.Backoff.Jitter, 0.2)
	return l
}

// The errors of the outbox's own; those of its records are in package records.
var (
	ErrChanged = blob.ErrChanged                                    // passes: open the file again and copy anew
	ErrSending = errors.New("the delivery is being sent right now") // Cancel; passes
)

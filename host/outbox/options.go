package outbox

import (
	"log/slog"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
)

// Options says how an outbox works. Only Dir is needed: every other zero value
// stands for the default that its comment names.
type Options struct {
	Dir      string            // the outbox's own directory, made with mode 0700
	Channels []channel.Channel // found by Delivery.Channel
	Log      *slog.Logger      // nil discards

	// Trace is told each step of a delivery: "sending", "acknowledged",
	// "settled". It may be called from several goroutines.
	Trace func(folder, request, step string)

	// OnUpdate is told a delivery after a change of it is durable, and about
	// once a second while bytes are on their way. Calls come one at a time, so
	// that what was told last is what holds. It may Put, but not Retry, Drop or
	// Report.
	OnUpdate func(Delivery)

	Backoff     Backoff
	MaxAge      time.Duration            // from acceptance to giving up, time held not counted; 24 h
	Parallel    int                      // sends in flight per channel; 4
	Rate        func(folder string) Rate // of a group's sends; nil or a zero Rate: unlimited
	SendTimeout time.Duration            // for one attempt, on top of a second per 128 KiB of file; 1 min
	Stall       time.Duration            // without progress, after which a send no longer counts as one of Parallel; 10 s
	HoldFor     time.Duration            // between attempts on a held channel that has no Status; 30 s

	QuotaPending int           // open parts per group; 64
	QuotaBytes   int64         // of the open files of a group, and once more of its failed ones; 256 MiB
	FreeDisk     int64         // bytes of the disk that are never used; 1 GiB, negative for none
	Retention    time.Duration // of settled records, and of the bytes of failed parts; 7 days
}

// Backoff says how long a chat waits after an error that passes: Initial,
// times Multiplier for each further attempt, at most Max, moved by up to the
// fraction Jitter to either side.
type Backoff struct {
	Initial    time.Duration // 1 s
	Max        time.Duration // 5 min
	Multiplier float64       // 2
	Jitter     float64       // 0.2; negative for none
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
	if o.OnUpdate == nil {
		o.OnUpdate = func(Delivery) {}
	}
	if o.Rate == nil {
		o.Rate = func(string) Rate { return Rate{} }
	}
	o.MaxAge = or(o.MaxAge, 24*time.Hour)
	o.Parallel = or(o.Parallel, 4)
	o.SendTimeout = or(o.SendTimeout, time.Minute)
	o.Stall = or(o.Stall, 10*time.Second)
	o.HoldFor = or(o.HoldFor, 30*time.Second)
	o.QuotaPending = or(o.QuotaPending, 64)
	o.QuotaBytes = or(o.QuotaBytes, 256<<20)
	o.FreeDisk = or(o.FreeDisk, 1<<30)
	o.Retention = or(o.Retention, 7*24*time.Hour)
	o.Backoff.Initial = or(o.Backoff.Initial, time.Second)
	o.Backoff.Max = or(o.Backoff.Max, 5*time.Minute)
	o.Backoff.Multiplier = or(o.Backoff.Multiplier, 2)
	o.Backoff.Jitter = or(o.Backoff.Jitter, 0.2)
	return o
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

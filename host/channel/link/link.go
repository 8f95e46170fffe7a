// Package link keeps a channel connected: it connects, waits longer after each
// failure, and reports the state of the connection.
//
// A [Link] is connecting, up, or stopped. After a temporary failure (a lost
// connection, a server that restarts) it connects again, after a growing pause.
// A permanent failure (no account, a revoked token) is a [Stop]: the channel's
// Sends are held, the operator sees the remedy, and the Link waits for that.
//
// A channel that opens nothing besides its connection runs
//
//	l.Run(ctx, func(ctx context.Context) error { return l.Stay(ctx, connect) })
//
// connect dials, calls up when the platform has accepted the connection, reads until the connection
// is lost, and returns the reason. This fits a socket, a gateway and a long poll.
package link

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/longshore-bridge/longshore/internal/wake"
)

const (
	welcomeTime = 90 * time.Second // from the start of connect to its call of up

	// An operator who has mended something sees it within a minute. Pauses are longer by up to a half.
	longestPause = 30 * time.Second // between two attempts
	tryAgain     = 20 * time.Second // after a stop that ends with what somebody does elsewhere
)

// Stop is the reason why a connection stays down until somebody acts. connect
// and serve return it as an error.
type Stop struct {
	Code    string // stable, for programs: "slack_not_paired"
	Message string // for agents
	Hint    string // for the operator: the remedy
	Detail  string // the platform's own details, such as the end of a ban; may be empty

	Wait Waiter // ends the stop; nil: only [Link.Retry] does
}

func (s *Stop) Error() string {
	if s.Detail == "" {
		return s.Message + ": " + s.Hint
	}
	return s.Message + " (" + s.Detail + "): " + s.Hint
}

// Waiter waits for the end of a Stop.
type Waiter interface {
	// Wait returns when connecting again makes sense, or when ctx is done.
	Wait(ctx context.Context)
}

// After is a Waiter for a fixed time.
type After time.Duration

// Wait implements Waiter.
func (d After) Wait(ctx context.Context) { wake.Sleep(ctx, time.Duration(d)) }

// Link is the connection of one channel. Its methods may be called
// concurrently. Run is called once; its goroutines have ended when it returns.
type Link struct {
	// Pause is the first pause between two attempts. A connection that was up for
	// as long is made again without a pause. New sets a second; only tests change it.
	Pause time.Duration

	platform string // "WhatsApp", for people
	log      *slog.Logger
	retry    chan struct{} // holds a value after Retry
	ran      atomic.Bool

	mu      sync.Mutex
	up      bool
	stop    *Stop         // nil: not stopped
	detail  string        // what is being done, or the account that is connected; empty: nothing runs
	changed chan struct{} // closed and replaced at each change
}

// New returns a Link that is not connected. platform is the platform's name for people.
func New(platform string, log *slog.Logger) *Link {
	return &Link{Pause: time.Second, platform: platform, log: log, retry: make(chan struct{}, 1), changed: make(chan struct{})}
}

// Run calls serve until ctx is done. serve opens what the channel needs and calls Stay. If serve
// returns a *Stop, Run waits for its remedy and calls serve again. Any other error ends Run; an
// error after ctx is done is only logged. A second Run is an error.
func (l *Link) Run(ctx context.Context, serve func(context.Context) error) error {
	if l.ran.Swap(true) {
		return errors.New("the connection to " + l.platform + " has been run before")
	}
	defer l.set(func() { l.up, l.stop, l.detail = false, nil, "" })
	for {
		select {
		case <-l.retry: // of before: serve sees it
		default:
		}
		err := serve(ctx)
		var stop *Stop
		switch {
		case ctx.Err() != nil:
			if err != nil {
				l.log.Debug("end the connection", "error", err)
			}
			return nil
		case !errors.As(err, &stop):
			return err
		}
		l.set(func() { l.up, l.stop = false, stop })
		l.log.Warn("the connection to "+l.platform+" is stopped", "reason", stop.Code, "detail", stop.Detail, "remedy", stop.Hint)
		l.remedy(ctx, stop)
	}
}

// remedy waits until connecting again makes sense.
func (l *Link) remedy(ctx context.Context, stop *Stop) {
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	if stop.Wait != nil {
		waiting.Go(func() {
			stop.Wait.Wait(ctx)
			cancel()
		})
	}
	select {
	case <-l.retry:
	case <-ctx.Done():
	}
}

// Retry ends a Stop, because somebody has acted.
func (l *Link) Retry() {
	wake.Up(l.retry)
}

// Stay calls connect again and again, until ctx is done or connect returns a *Stop, which Stay
// returns. connect calls up when the platform has accepted the connection, with a text for the
// operator ("connected as +49…"), and returns when the connection is lost. If it does not call up
// in 90 seconds, its ctx ends.
func (l *Link) Stay(ctx context.Context, connect func(ctx context.Context, up func(detail string)) error) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = l.Pause, longestPause
	l.set(func() { l.up, l.stop, l.detail = false, nil, "connecting to "+l.platform })
	for {
		since, err := l.once(ctx, connect)
		if stop, ok := errors.AsType[*Stop](err); ok {
			l.Down()
			return stop
		}
		l.set(func() { l.up, l.detail = false, lost(l.platform, err) })
		if ctx.Err() != nil {
			return nil
		}
		if since.IsZero() {
			l.log.Info("connect to "+l.platform, "error", err)
		} else {
			l.log.Info("lost the connection to "+l.platform, "error", err)
		}
		if !since.IsZero() && time.Since(since) >= l.Pause {
			pause.Reset()
			continue
		}
		wake.Sleep(ctx, pause.NextBackOff())
	}
}

// lost describes a connection that is made again, with the last error.
func lost(platform string, err error) string {
	if err == nil {
		return "reconnecting to " + platform
	}
	return "reconnecting to " + platform + ": " + err.Error()
}

var errNoWelcome = errors.New("the platform did not accept the connection in time")

// once makes one connection. since is the time at which it came up; zero if it did not.
func (l *Link) once(ctx context.Context, connect func(context.Context, func(string)) error) (since time.Time, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	welcome := time.AfterFunc(welcomeTime, func() { cancel(errNoWelcome) })
	defer welcome.Stop()
	err = connect(ctx, func(detail string) {
		welcome.Stop()
		since = time.Now()
		l.log.Info("connected to " + l.platform)
		l.set(func() { l.up, l.stop, l.detail = true, nil, detail })
	})
	if err == nil {
		err = context.Cause(ctx)
	}
	return since, err
}

// Down reports a lost connection before connect has returned.
func (l *Link) Down() { l.set(func() { l.up = false }) }

func (l *Link) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	close(l.changed)
	l.changed = make(chan struct{})
}

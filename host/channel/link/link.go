// Package link keeps a channel connected: it connects, backs off, and tells
// everybody who asks in which state the connection is.
//
// A [Link] is connecting, up, or stopped. What passes (a lost connection, a
// server that restarts) is mended by connecting again, after a pause that grows.
// What does not pass (no account, a token that was withdrawn) is a [Stop]: the
// channel's Sends are held, the operator reads the remedy, and the connection
// waits for it.
//
// A channel that has nothing to open besides its connection runs
//
//	l.Run(ctx, func(ctx context.Context) error { return l.Stay(ctx, connect) })
//
// where connect dials, calls up when the platform has welcomed it, reads until
// the connection is lost, and returns why. That is a socket, a gateway or a
// long poll alike.
package link

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	welcomeTime  = 90 * time.Second // from the call of connect to its call of up
	firstPause   = time.Second
	longestPause = time.Minute // between two attempts
	steady       = time.Second // a connection that was up for so long is made again without a pause
)

// Stop is why a connection stays down until somebody acts. It is an error that
// connect and serve return.
type Stop struct {
	Code    string // stable, for programs: "slack_not_paired"
	Message string // for agents
	Hint    string // for the operator: what to do
	Detail  string // what the platform says of it, such as when a ban ends; may be empty

	// Wait, if not nil, returns when it makes sense to connect again, or when
	// ctx is done. Nil: only [Link.Retry] does.
	Wait func(ctx context.Context)
}

func (s *Stop) Error() string {
	if s.Detail == "" {
		return s.Message + ": " + s.Hint
	}
	return s.Message + " (" + s.Detail + "): " + s.Hint
}

// After is a [Stop.Wait] for so long.
func After(d time.Duration) func(context.Context) {
	return func(ctx context.Context) { sleep(ctx, d) }
}

// Link is the connection of one channel. Its methods may be called from several
// goroutines; Run is called once.
type Link struct {
	platform string // "WhatsApp", for people
	log      *slog.Logger
	retry    chan struct{} // holds a value after Retry
	ran      atomic.Bool

	mu      sync.Mutex
	up      bool
	stop    *Stop         // nil: not stopped
	detail  string        // what is being done, or as whom it is connected; empty: nothing runs
	changed chan struct{} // closed and replaced at each change
}

// New makes a Link that is not connected. platform is its name for people.
func New(platform string, log *slog.Logger) *Link {
	return &Link{platform: platform, log: log, retry: make(chan struct{}, 1), changed: make(chan struct{})}
}

// Run calls serve, which opens what the channel needs and calls Stay, until ctx
// is done. When serve returns a *Stop, Run waits for its remedy and calls serve
// again. Another error ends Run; an error after ctx is done is only logged. A
// second Run is an error.
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

// remedy waits until it makes sense to connect again.
func (l *Link) remedy(ctx context.Context, stop *Stop) {
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	if stop.Wait != nil {
		waiting.Go(func() {
			stop.Wait(ctx)
			cancel()
		})
	}
	select {
	case <-l.retry:
	case <-ctx.Done():
	}
}

// Retry ends the wait for a remedy: somebody has acted.
func (l *Link) Retry() {
	select {
	case l.retry <- struct{}{}:
	default: // it is told already
	}
}

// Stay calls connect, again and again, until ctx is done or connect returns a
// *Stop, which it returns. connect calls up once the platform has welcomed it,
// with what the operator reads then ("connected as +49…"), and returns when the
// connection is lost. Its ctx ends if it does not call up in 90 seconds.
func (l *Link) Stay(ctx context.Context, connect func(ctx context.Context, up func(detail string)) error) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = firstPause, longestPause
	l.set(func() { l.up, l.stop, l.detail = false, nil, "connecting to "+l.platform })
	for {
		since, err := l.once(ctx, connect)
		l.set(func() { l.up, l.detail = false, "reconnecting to "+l.platform })
		var stop *Stop
		if errors.As(err, &stop) {
			return stop
		}
		if ctx.Err() != nil {
			return nil
		}
		if since.IsZero() {
			l.log.Info("connect to "+l.platform, "error", err)
		} else {
			l.log.Info("lost the connection to "+l.platform, "error", err)
		}
		if !since.IsZero() && time.Since(since) >= steady {
			pause.Reset()
			continue
		}
		sleep(ctx, pause.NextBackOff())
	}
}

var errNoWelcome = errors.New("the platform did not welcome the connection in time")

// once is one connection; since is when it came up, zero if it did not.
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

// Down says that the connection is lost, before connect has returned.
func (l *Link) Down() { l.set(func() { l.up = false }) }

func (l *Link) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	close(l.changed)
	l.changed = make(chan struct{})
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

package link

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
)

var errBroken = errors.New("the cable is cut")

func newLink() *Link { return New("Post", slog.New(slog.DiscardHandler)) }

// dialer is a platform: what each connection does, in order; then it stays up.
type dialer struct {
	script  []func(ctx context.Context, up func(string)) error
	at      []time.Duration // when each connection began, in whole seconds
	exactly []time.Duration // the same to the nanosecond
	begin   time.Time
}

func (d *dialer) connect(ctx context.Context, up func(string)) error {
	if d.begin.IsZero() {
		d.begin = time.Now()
	}
	d.at = append(d.at, time.Since(d.begin).Round(time.Second))
	d.exactly = append(d.exactly, time.Since(d.begin))
	if n := len(d.at); n <= len(d.script) {
		return d.script[n-1](ctx, up)
	}
	up("connected as Ada")
	<-ctx.Done()
	return nil
}

// runs runs a link in a bubble until the test ends.
func runs(t *testing.T, l *Link, d *dialer) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- l.Run(ctx, func(ctx context.Context) error { return l.Stay(ctx, d.connect) })
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		if ok, detail := l.Connected(); ok || detail != "not running" {
			t.Errorf("after Run: %t %q", ok, detail)
		}
	})
}

func (l *Link) wants(t *testing.T, up bool, detail string) {
	t.Helper()
	synctest.Wait()
	if ok, got := l.Connected(); ok != up || got != detail || l.Up() != up {
		t.Errorf("connected %t %q, want %t %q", ok, got, up, detail)
	}
}

func fails(context.Context, func(string)) error { return errBroken }

func TestALostConnectionIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, cut := newLink(), make(chan struct{})
		d := &dialer{script: []func(context.Context, func(string)) error{
			func(ctx context.Context, up func(string)) error {
				up("connected as Ada")
				<-cut
				return errBroken
			},
			fails, fails,
		}}
		runs(t, l, d)
		l.wants(t, true, "connected as Ada")
		time.Sleep(time.Hour)
		close(cut)
		l.wants(t, false, "reconnecting to Post: the cable is cut")
		if err := l.Held(); err != nil {
			t.Errorf("held while it connects again: %v", err)
		}
		time.Sleep(time.Minute)
		l.wants(t, true, "connected as Ada")
		if d.at[1] != time.Hour {
			t.Errorf("made again after %v, want at once", d.at[1]-time.Hour)
		}
	})
}

func TestThePauseGrowsUntilItIsHalfAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, d := newLink(), &dialer{}
		for range 30 {
			d.script = append(d.script, fails)
		}
		// Welcomed, and thrown out at once.
		d.script = append(d.script, func(_ context.Context, up func(string)) error { up("in"); return errBroken })
		runs(t, l, d)
		time.Sleep(time.Hour)
		synctest.Wait()
		for i := range 30 {
			pause := d.exactly[i+1] - d.exactly[i]
			if pause < time.Second/2 || pause > 46*time.Second || i > 15 && pause < 14*time.Second {
				t.Errorf("pause %d is one of %v", i, pause)
			}
		}
		if pause := d.at[31] - d.at[30]; pause < 14*time.Second {
			t.Errorf("thrown out, it comes back after %v", pause)
		}
	})
}

func TestAConnectionWithoutAWelcomeIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLink()
		var cause error
		d := &dialer{script: []func(context.Context, func(string)) error{func(ctx context.Context, _ func(string)) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return nil
		}}}
		runs(t, l, d)
		l.wants(t, false, "connecting to Post")
		time.Sleep(welcomeTime + 2*time.Second)
		l.wants(t, true, "connected as Ada")
		if !errors.Is(cause, errNoWelcome) {
			t.Errorf("ended by %v", cause)
		}
		time.Sleep(time.Hour) // the time counts for the welcome only
		l.wants(t, true, "connected as Ada")
	})
}

// TestWhatWasMendedStillStoodAMinuteLater: a token that the platform accepts again, and a network that is back after
// an hour.
func TestWhatWasMendedStillStoodAMinuteLater(t *testing.T) {
	for name, err := range map[string]error{
		"token":   StopOf(&channel.Error{Class: channel.Held, Code: "post_token", Message: "Post does not accept the token"}),
		"network": errBroken,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, began := newLink(), time.Now()
				d := &dialer{}
				for range 500 {
					d.script = append(d.script, func(ctx context.Context, up func(string)) error {
						if time.Since(began) < time.Hour+time.Second {
							return err
						}
						up("connected as Ada")
						<-ctx.Done()
						return nil
					})
				}
				runs(t, l, d)
				time.Sleep(time.Hour + 56*time.Second)
				l.wants(t, true, "connected as Ada")
			})
		})
	}
}

func TestAStopHoldsUntilItsRemedy(t *testing.T) {
	for name, tt := range map[string]struct {
		wait  Waiter
		retry bool
		after time.Duration
	}{
		"somebody acts":         {retry: true},
		"it ends by itself":     {wait: After(time.Minute), after: time.Minute},
		"somebody acts earlier": {wait: After(time.Hour), retry: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLink()
				l.Retry() // of before, when there was nothing to mend
				stop := &Stop{Code: "post_closed", Message: "the office is closed", Hint: "open it", Detail: "until Monday", Wait: tt.wait}
				d := &dialer{script: []func(context.Context, func(string)) error{func(context.Context, func(string)) error { return stop }}}
				runs(t, l, d)
				l.wants(t, false, "the office is closed (until Monday): open it")
				var e *channel.Error
				if err := l.Held(); !errors.As(err, &e) || e.Class != channel.Held || e.Code != "post_closed" || !strings.HasSuffix(e.Hint, "open it") {
					t.Errorf("held: %+v", err)
				}
				if err := l.Wait(t.Context(), time.Hour, nil); channel.ClassOf(err) != channel.Held {
					t.Errorf("Wait: %v", err)
				}
				if tt.retry {
					l.Retry()
				}
				time.Sleep(tt.after)
				l.wants(t, true, "connected as Ada")
				if err := l.Held(); err != nil {
					t.Errorf("still held: %v", err)
				}
			})
		})
	}
}

func TestWhatIsNoStopEndsRun(t *testing.T) {
	l := newLink()
	if err := l.Run(t.Context(), func(context.Context) error { return errBroken }); !errors.Is(err, errBroken) {
		t.Errorf("Run: %v", err)
	}
	if err := l.Run(t.Context(), func(context.Context) error { return nil }); err == nil {
		t.Error("it was run twice")
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := newLink().Run(ctx, func(context.Context) error { cancel(); return errBroken }); err != nil {
		t.Errorf("an error at the end: %v", err)
	}
}

func TestWaitEndsAfterItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, cut, back := newLink(), make(chan struct{}), make(chan struct{})
		alive := true
		d := &dialer{script: []func(context.Context, func(string)) error{
			func(_ context.Context, up func(string)) error { up("in"); <-cut; return errBroken },
			func(ctx context.Context, up func(string)) error { <-back; up("in"); <-ctx.Done(); return nil },
		}}
		runs(t, l, d)
		synctest.Wait()
		if err := l.Wait(t.Context(), 0, nil); err != nil {
			t.Errorf("while it is up: %v", err)
		}
		alive = false // the library knows, and has not said so yet
		start := time.Now()
		if err := l.Wait(t.Context(), time.Second, func() bool { return alive }); channel.ClassOf(err) != channel.Passing || time.Since(start) != time.Second {
			t.Errorf("while it is dead: %v after %v", err, time.Since(start))
		}
		l.Down()
		close(cut)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Wait(ctx, time.Minute, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cut short: %v", err)
		}
		alive = true
		time.AfterFunc(5*time.Second, func() { close(back) })
		if err := l.Wait(t.Context(), time.Minute, func() bool { return alive }); err != nil {
			t.Errorf("when it came back: %v", err)
		}
	})
}

func TestAGateWaitsForThoseInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(t.Context())
		ctx, leave, ok := g.Enter(t.Context())
		if !ok {
			t.Fatal("an open gate lets nobody in")
		}
		closed := false
		go func() { g.Close(); closed = true }()
		synctest.Wait()
		if ctx.Err() == nil || closed || g.Context().Err() == nil {
			t.Errorf("the context inside %v, closed %t", ctx.Err(), closed)
		}
		if _, _, ok := g.Enter(t.Context()); ok {
			t.Error("somebody came in while it closes")
		}
		leave()
		synctest.Wait()
		if !closed {
			t.Error("not closed although all have left")
		}
	})
}

func TestAKeyLetsOneInAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k Keyed
		inside, most := 0, 0
		for range 10 {
			go func() {
				leave, err := k.Enter(t.Context(), "a")
				if err != nil {
					t.Error(err)
					return
				}
				inside++
				most = max(most, inside)
				time.Sleep(time.Second)
				inside--
				leave()
			}()
		}
		synctest.Wait()
		if leave, err := k.Enter(t.Context(), "b"); err != nil {
			t.Errorf("another key: %v", err)
		} else {
			leave()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if _, err := k.Enter(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without a turn in time: %v", err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if most != 1 || len(k.locks) != 0 {
			t.Errorf("%d at once, %d are held", most, len(k.locks))
		}
	})
}

func TestAnAnswerReachesWhoWaitsForIt(t *testing.T) {
	var w Waiters[int]
	w.Tell("a", 1) // nobody waits
	answer, end := w.Expect("a")
	w.Tell("b", 2)
	w.Tell("a", 3)
	w.Tell("a", 4) // too many
	if got := <-answer; got != 3 {
		t.Errorf("got %d", got)
	}
	end()
	w.Tell("a", 5)
	if len(answer) != 0 || len(w.by) != 0 {
		t.Error("told after the end")
	}
}

package upkeep_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/upkeep"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// A part whose address was taken ended the host.
func TestAPartThatIsDownComesUpByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := upkeep.New(slog.New(slog.DiscardHandler))
		f := finding.Finding{Name: finding.Listener, Part: "metrics", Remedy: "stop it"}
		ctx, cancel := context.WithCancel(t.Context())
		taken, broken := errors.New("taken"), errors.New("broken")
		var down atomic.Pointer[error]
		set := func(err error) { down.Store(&err) }
		set(nil)
		breaks := make(chan error)
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.Keep(ctx, f, func() error { return *down.Load() }, func(ctx context.Context) error {
				select {
				case err := <-breaks:
					return err
				case <-ctx.Done():
					return nil
				}
			})
		}()
		began := time.Now()
		is := func(want error) {
			t.Helper()
			time.Sleep(upkeep.LongestPause + time.Second)
			synctest.Wait()
			all := l.Findings(ctx)
			switch {
			case want == nil && len(all) > 0:
				t.Errorf("%v, want nothing", all)
			case want != nil && (len(all) != 1 || all[0].Cause != want.Error() || all[0].Severity != finding.Fault || all[0].Remedy == ""):
				t.Errorf("%v, want %v", all, want)
			}
		}
		is(nil)
		set(taken)
		breaks <- broken
		is(taken)
		if since := l.Findings(ctx)[0].Since; since.Before(began) || time.Since(since) < upkeep.LongestPause {
			t.Errorf("down since %v", since)
		}
		is(taken)
		set(nil)
		is(nil)
		cancel()
		<-done
	})
}

// A part whose run failed as soon as it was open was up and down once a second, each time with a line of
// the log and a notice.
func TestAPartThatFailsAsSoonAsItRunsIsDownInOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		l := upkeep.New(slog.New(slog.NewTextHandler(&log, nil)))
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		runs := 0
		go l.Keep(ctx, finding.Finding{Name: finding.Listener, Part: "control socket"}, func() error { return nil }, func(context.Context) error {
			runs++
			return errors.New("no room for the socket")
		})
		began := time.Now()
		for range 100 {
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			if all := l.Findings(ctx); len(all) != 1 || all[0].Since.After(began.Add(time.Second)) {
				t.Fatalf("after %v: %v", time.Since(began), all)
			}
		}
		<-ctx.Done()
		synctest.Wait()
		if n := strings.Count(log.String(), "\n"); n != 1 || runs > 6000 {
			t.Errorf("%d lines for %d runs in a day", n, runs)
		}
	})
}

func TestReplaceSaysWhetherOthersAreDown(t *testing.T) {
	l := upkeep.New(slog.New(slog.DiscardHandler))
	a, b := finding.Finding{Name: "x", Part: "group a", Cause: "1"}, finding.Finding{Name: "x", Part: "group b", Cause: "2"}
	other := finding.Finding{Name: "y", Part: "group a"}
	l.Tell(other, errors.New("3"))
	if !l.Replace("x", []finding.Finding{a, b}) || l.Replace("x", []finding.Finding{a, b}) {
		t.Error("they went down once")
	}
	if !l.Replace("x", []finding.Finding{b}) {
		t.Error("a was mended")
	}
	if f, down := l.Of("group a"); !down || f.Name != "y" {
		t.Errorf("group a: %v, %v", f, down)
	}
	if f, down := l.Of("group b", "group c"); !down || f.Cause != "2" {
		t.Errorf("group b: %v, %v", f, down)
	}
	if _, down := l.Of("group c"); down {
		t.Error("group c is not down")
	}
}

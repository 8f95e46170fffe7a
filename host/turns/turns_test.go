package turns_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/turns"
	"github.com/longshore-bridge/longshore/internal/cause"
)

// An operator who finds a group silent reads when it last answered, and what broke since.
func TestTheLastTurnAndTheLastTroubleAreKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, group("family"))
		w.run()
		if got := w.m.Turns("family"); got != (turns.Turns{}) {
			t.Errorf("before the first turn: %+v", got)
		}
		w.admin("1", "work")
		a := w.runtime.next()
		time.Sleep(time.Minute)
		a.says("done")
		synctest.Wait()
		done := w.m.Turns("family")
		if done.Done != time.Now() || !done.Broke.IsZero() || done.Trouble != "" {
			t.Errorf("after an answer: %+v", done)
		}
		time.Sleep(time.Minute)
		w.admin("2", "more")
		time.Sleep(time.Minute)
		w.runtime.refuses(errors.New("it fell over"))
		a.exit(errors.New("it fell over"))
		synctest.Wait()
		if got := w.m.Turns("family"); got.Done != done.Done || !got.Broke.After(got.Done) || got.Trouble == "" {
			t.Errorf("after a failure: %+v", got)
		}
		if got := w.m.Turns("nobody"); got != (turns.Turns{}) {
			t.Errorf("of no group: %+v", got)
		}
	})
}

// An assistant's figures are its own word: nonsense is left out of the sums.
func TestTurnsTroubleAndUsageAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, group("family"))
		w.run()
		w.admin("1", "work")
		a := w.runtime.next()
		text := "done"
		a.reports(cause.Busy, 3)
		a.outputs <- runtime.Output{Status: runtime.Success, Result: &text, Usage: &runtime.Usage{Input: 100, Cached: 60, Output: 7, Cost: 0.25}}
		synctest.Wait()
		for _, u := range []runtime.Usage{{Input: -1}, {Output: 1 << 62}, {Cached: -5, Cost: 1}, {Cost: 1e300}, {Cost: -1}} {
			w.admin("2", "more")
			synctest.Wait()
			a.outputs <- runtime.Output{Status: runtime.Success, Result: &text, Usage: &u}
			synctest.Wait()
		}
		got := w.m.Turns("family")
		if got.Answered != 6 || got.Broken != 0 || got.InputTokens != 100 || got.CachedTokens != 60 || got.OutputTokens != 7 || got.CostUSD != 0.25 {
			t.Errorf("%+v", got)
		}
		a.exit(nil)
		synctest.Wait()
		w.admin("3", "again")
		w.runtime.next().breaks(cause.Key)
		if got := w.m.Turns("family"); got.Broken != 1 {
			t.Errorf("%+v", got)
		}
		if got := w.m.Troubles(); got[cause.Busy] != 1 || got[cause.Key] != 1 || len(got) != 2 {
			t.Errorf("troubles %v", got)
		}
	})
}

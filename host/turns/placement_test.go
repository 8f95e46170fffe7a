package turns_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/turns"
)

// onEngines puts each group on the engine that its folder begins with: "quay-1" on quay.
func onEngines(g groups.Group, _ map[string]int) (turns.Placement, bool) {
	engine, _, _ := strings.Cut(g.Folder, "-")
	return turns.Placement{Engine: engine}, true
}

// Assistants on an engine that does not answer took the room of those on another one.
func TestAFullEngineHoldsUpNoGroupOfAnotherOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *options) { o.Placement, o.Limits.AtOnce = onEngines, 1 }, group("quay-1"), group("quay-2"), group("dock-1"))
		w.run()
		for _, folder := range []string{"quay-1", "quay-2", "dock-1"} {
			w.write(folder, "1", "hello")
		}
		on := map[string]*actor{}
		for a := w.runtime.next(); a != nil; a = w.runtime.next() {
			on[a.spec.Engine+" of "+a.spec.Group.Folder] = a
		}
		full, other := on["quay of quay-1"], on["dock of dock-1"]
		if full == nil || other == nil || len(on) != 2 {
			t.Fatalf("there run %d: %v", len(on), w.m.Status())
		}
		other.says("hi") // it rests, and need not make room: quay is full, not dock
		if synctest.Wait(); len(other.lie()) > 0 || w.m.Status()[2].State != "resting" || w.m.Status()[1].State != "queued" {
			t.Errorf("%+v", w.m.Status())
		}
		full.says("hi")
		if third := w.untilNext(full); third == nil || third.spec.Group.Folder != "quay-2" {
			t.Error("the next one does not run after the first has rested")
		}
	})
}

// untilNext has an assistant that was asked to end do so, and returns the next one.
func (w *world) untilNext(a *actor) *actor {
	synctest.Wait()
	a.exit(nil)
	return w.runtime.next()
}

// Its place is not known before somebody has looked at the engines: it waits, and asks nobody to make room.
func TestAGroupWaitsUntilAnEngineIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		known := false
		w := newWorld(t, func(o *options) {
			o.Limits.AtOnce = 1
			o.Placement = func(g groups.Group, running map[string]int) (turns.Placement, bool) {
				return turns.Placement{}, known || g.Folder == "first"
			}
		}, group("first"), group("family"))
		w.run()
		w.write("first", "1", "hello")
		resting := w.runtime.next()
		resting.says("hi")
		w.write("family", "1", "hello")
		if got := w.runtime.next(); got != nil || len(resting.lie()) > 0 {
			t.Errorf("it runs: %v; the resting one is asked to end: %q", got != nil, resting.lie())
		}
		known = true
		resting.exit(nil)
		w.m.Reload()
		if w.runtime.next() == nil {
			t.Error("it does not run once its engine is known")
		}
	})
}

const movedOn = "The assistant now works on another machine and begins anew: it no longer has its files, nor what it remembered of this chat."

// The agent's memory is in its volume, which stays on the engine before.
func TestAGroupThatMovesBeginsAnewAndItsChatIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := turns.Placement{Engine: "quay"}
		w := newWorld(t, func(o *options) {
			o.Placement = func(groups.Group, map[string]int) (turns.Placement, bool) { return at, true }
		})
		w.run()
		w.write("family", "1", "hello")
		a := w.runtime.next()
		a.says("hi")
		a.exit(nil)
		at = turns.Placement{Engine: "dock", Former: "quay"}
		w.write("family", "2", "and now?")
		b := w.runtime.next()
		if b == nil || b.spec.Engine != "dock" || b.input.SessionID != "" {
			t.Fatalf("on another engine there runs %+v", b)
		}
		at.Former = ""
		b.exit(errCrash) // what the host has said does not count as sent: the turn runs again
		time.Sleep(time.Minute)
		if b = w.runtime.next(); b == nil {
			t.Fatal("the turn is not run again")
		}
		b.says("hi again")
		equal(t, "told", w.texts(), []string{"hi", movedOn, tryingAgain, "hi again"})
	})
}

package turns_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/runtime"
)

const (
	tryingAgain = "The assistant stopped unexpectedly. It is being started again."
	failedOnce  = "The assistant could not answer. It is being asked again."
	interrupted = "The assistant was interrupted while it was answering. Please ask again for what is missing."
	gaveUp      = "The assistant could not answer, after several attempts. The operator finds the reason in the host's log; please ask again later."
	tookTooLong = "The assistant took too long and was ended. Please ask again, perhaps for less at once."
)

var errCrash = errors.New("exit status 2")

func TestACrashIsToldOnceAndTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "hello")
		a := w.runtime.next()
		a.exit(errCrash)
		if w.runtime.next() != nil {
			t.Fatal("started again without a pause")
		}
		if s := w.m.Status()[0]; s.State != "waiting" || s.LastError != "exit status 2" || s.Failures != 1 || s.Kept != 1 {
			t.Errorf("status %+v", s)
		}
		time.Sleep(2 * time.Second)
		b := w.runtime.next()
		has(t, b.input.Prompt, "hello")
		b.exit(nil) // without an output
		time.Sleep(4 * time.Second)
		c := w.runtime.next()
		has(t, c.input.Prompt, "hello")
		c.says("hi")
		if diff := cmp.Diff([]string{tryingAgain, "hi"}, w.texts()); diff != "" {
			t.Error(diff)
		}
		if s := w.m.Status()[0]; s.State != "resting" || s.LastError != "" || s.Failures != 0 {
			t.Errorf("status %+v", s)
		}
	})
}

func TestACrashLoopEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		var starts []time.Duration
		for i := range 3 {
			w.write("family", fmt.Sprint(i), "hello")
			begin := time.Now()
			for range 3600 {
				if a := w.runtime.next(); a != nil {
					starts = append(starts, time.Since(begin).Round(time.Second))
					a.exit(errCrash)
				}
				time.Sleep(time.Second)
			}
		}
		seconds := func(n ...int) (d []time.Duration) {
			for _, s := range n {
				d = append(d, time.Duration(s)*time.Second)
			}
			return d
		}
		if diff := cmp.Diff(seconds(0, 2, 6, 0, 16, 48, 0, 128, 384), starts); diff != "" {
			t.Errorf("starts (-want +got):\n%s", diff)
		}
		// "Trying again" once in the whole row, the end of each message's attempts each time.
		if diff := cmp.Diff([]string{tryingAgain, gaveUp, gaveUp, gaveUp}, w.texts()); diff != "" {
			t.Error(diff)
		}
		if n := w.kept("family"); n != 0 {
			t.Errorf("%d messages are still on disk", n)
		}
	})
}

func TestTheLastAttemptBeginsANewConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "0", "hello")
		a := w.runtime.next()
		a.says("hi")
		a.exit(nil)
		time.Sleep(time.Second)
		w.write("family", "1", "hello")
		var sessions []string
		for range 3 {
			a := w.runtime.next()
			sessions = append(sessions, a.input.SessionID)
			a.exit(errCrash)
			time.Sleep(time.Minute)
		}
		if !slices.Equal(sessions, []string{"session-1", "session-1", ""}) {
			t.Errorf("resumed %q", sessions)
		}
	})
}

func TestATurnThatSentSomethingIsNotRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "send me two files")
		a := w.runtime.next()
		time.Sleep(time.Second)
		w.toolSends()
		a.exit(errCrash)
		time.Sleep(time.Hour)
		if w.runtime.next() != nil {
			t.Error("the turn was run again")
		}
		if diff := cmp.Diff([]string{interrupted}, w.texts()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAHangIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *options) { o.TurnTimeout = time.Minute })
		w.run()
		w.write("family", "1", "hello")
		a := w.runtime.next()
		time.Sleep(30 * time.Second)
		w.write("family", "2", "are you there?") // gives it no more time
		synctest.Wait()
		a.reads()
		time.Sleep(31 * time.Second)
		if !a.stopped.Load() {
			t.Fatal("it still runs")
		}
		time.Sleep(time.Hour)
		if w.runtime.next() != nil {
			t.Error("it was started again")
		}
		if diff := cmp.Diff([]string{tookTooLong}, w.texts()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAnErrorThatTheAssistantReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "hello")
		a := w.runtime.next()
		a.outputs <- runtime.Output{Status: runtime.Failure, Error: "no key\x1b[2J"}
		synctest.Wait()
		if s := w.m.Status()[0]; !a.stopped.Load() || !strings.Contains(s.LastError, `"no key\x1b[2J"`) {
			t.Errorf("status %+v", s)
		}
	})
}

func TestAnAnswerThatCannotBeKeptIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "hello")
		a := w.runtime.next()
		w.mu.Lock()
		w.refuse = 1 // once: tried again at once
		w.mu.Unlock()
		go a.says("hi")
		time.Sleep(time.Second)
		w.write("family", "2", "and?")
		synctest.Wait()
		a.reads()
		w.mu.Lock()
		w.refuse = 5 // for longer: the turn is run again
		w.mu.Unlock()
		text := "lost"
		a.outputs <- runtime.Output{Status: runtime.Success, Result: &text}
		time.Sleep(time.Minute)
		b := w.runtime.next()
		has(t, b.input.Prompt, "and?")
		b.says("yes")
		if diff := cmp.Diff([]string{"hi", failedOnce, "yes"}, w.texts()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAnAssistantThatCannotBeStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.runtime.refuses(errors.New("no such image"))
		w.run()
		w.write("family", "1", "hello")
		time.Sleep(time.Hour)
		if diff := cmp.Diff([]string{failedOnce, gaveUp}, w.texts()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestOnlySoManyRunAtOnceInTheOrderOfTheCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := []string{"a", "b", "c", "d", "e", "f"}
		var gs []groups.Group
		for _, n := range names {
			gs = append(gs, group(n))
		}
		w := newWorld(t, func(o *options) { o.Limits.AtOnce = 2 }, gs...)
		w.run()
		for _, n := range []string{"f", "b", "d", "a"} {
			w.write(n, "1", "hello")
			time.Sleep(time.Millisecond)
		}
		var order []string
		playing := []*actor{w.runtime.next(), w.runtime.next()}
		if w.runtime.next() != nil {
			t.Fatal("a third one runs")
		}
		for i := 0; i < len(playing); i++ {
			a := playing[i]
			order = append(order, a.spec.Group.Folder)
			if i == 0 {
				w.write("f", "2", "more of the first group") // does not get it ahead
			}
			a.says("hi")
			a.reads()
			if i == 0 && a.spec.Group.Folder == "f" {
				a.says("hi") // to the second message, where it came while the first was answered
			}
			if i < 2 || a.stopped.Load() {
				a.exit(nil)
			}
			for next := w.runtime.next(); next != nil; next = w.runtime.next() {
				playing = append(playing, next)
			}
		}
		if !slices.Equal(order, []string{"f", "b", "d", "a"}) {
			t.Errorf("order %q", order)
		}
	})
}

func TestAnAssistantWithNothingToDoMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *options) { o.Limits.AtOnce = 2 }, group("a"), group("b"), group("c"))
		w.run()
		w.write("a", "1", "hello")
		a := w.runtime.next()
		time.Sleep(time.Second)
		w.write("b", "1", "hello")
		b := w.runtime.next()
		a.says("hi")
		time.Sleep(time.Minute)
		b.says("hi")
		w.write("c", "1", "hello")
		if w.runtime.next() != nil {
			t.Fatal("a third one runs")
		}
		// The one that has rested longest is asked, and only that one.
		if got := a.reads(); !slices.Equal(got, []string{"_close"}) {
			t.Errorf("a read %q", got)
		}
		if got := b.reads(); got != nil {
			t.Errorf("b read %q", got)
		}
		w.write("a", "2", "one more thing") // too late for this session
		a.exit(nil)
		if c := w.runtime.next(); c == nil || c.spec.Group.Folder != "c" {
			t.Fatal("c was not started")
		}
		// Now a waits itself, and b has nothing to do.
		if got := b.reads(); !slices.Equal(got, []string{"_close"}) {
			t.Errorf("b read %q", got)
		}
		b.exit(nil)
		has(t, w.runtime.next().input.Prompt, "one more thing")
	})
}

func TestTheHostEndsInGoodOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, group("quiet"), group("spoken"))
		end := w.run()
		w.write("quiet", "1", "hello")
		a := w.runtime.next()
		w.write("spoken", "1", "hello")
		b := w.runtime.next()
		time.Sleep(time.Second)
		end()
		if !a.stopped.Load() || !b.stopped.Load() {
			t.Fatal("assistants still run")
		}
		if len(w.texts()) != 0 {
			t.Errorf("said %q", w.texts())
		}
		w = w.restart()
		w.run()
		c := w.runtime.next()
		has(t, c.input.Prompt, "hello")
	})
}

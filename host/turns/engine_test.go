package turns_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/runtime"
)

const (
	outOfMemory = "The assistant ran out of memory each time it tried. Please ask for less at once, or have the operator give it more."
	outOfRoom   = "The assistant ran out of memory. It is being started again."
	notThere    = "The assistant cannot be started at the moment. Your message is kept and will be answered as soon as it can be."
)

var (
	errAway   = fmt.Errorf("start container: %w: connection refused", runtime.ErrAway)
	errLost   = fmt.Errorf("%w: connection refused", runtime.ErrLost)
	errMemory = fmt.Errorf("%w; the limit is 64 MiB", runtime.ErrOutOfMemory)
)

// TestNoEngineIsWaitedFor has the engine stay away for a night: the chat hears
// of it once, no message is given up, and the answer comes soon after.
func TestNoEngineIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.runtime.refuses(errAway)
		w.write("family", "1", "hello")
		time.Sleep(8 * time.Hour)
		w.write("family", "2", "anybody?")
		synctest.Wait()
		if s := w.m.Status()[0]; s.State != "waiting" || s.LastError != errAway.Error() || s.Failures < 500 || s.Failures > 1000 {
			t.Errorf("status %+v, want a try about every 30 seconds", s)
		}
		w.runtime.refuses(nil)
		time.Sleep(31 * time.Second)
		w.runtime.next().exit(errCrash) // the first of three tries
		time.Sleep(6 * time.Minute)
		a := w.runtime.next()
		has(t, a.input.Prompt, "hello", "anybody?")
		a.says("hi")
		a.exit(nil)
		if diff := cmp.Diff([]string{notThere, "hi"}, w.texts()); diff != "" {
			t.Error(diff)
		}
		if n := w.kept("family"); n != 0 {
			t.Errorf("%d messages are still kept", n)
		}
	})
}

// TestLastTryWaitsForAnEngineToo has the engine go away when only one try is
// left.
func TestLastTryWaitsForAnEngineToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "hello")
		for range 2 {
			w.runtime.refuses(nil)
			time.Sleep(time.Minute)
			a := w.runtime.next()
			w.runtime.refuses(errAway)
			a.exit(errCrash)
			time.Sleep(time.Hour)
		}
		w.runtime.refuses(nil)
		time.Sleep(time.Minute)
		w.runtime.next().says("hi")
		if diff := cmp.Diff([]string{tryingAgain, "hi"}, w.texts()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestLostRunIsNotRepeatedOnceItSent loses sight of an assistant that goes on
// and sends something before there is an engine for the second try.
func TestLostRunIsNotRepeatedOnceItSent(t *testing.T) {
	for _, sends := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, nil)
			w.run()
			w.write("family", "1", "hello")
			lost := w.runtime.next()
			w.runtime.refuses(errAway)
			lost.exit(errLost)
			time.Sleep(time.Minute + time.Second) // one try is a minute after the start
			if sends {
				w.toolSends()
			}
			w.runtime.refuses(nil)
			time.Sleep(time.Minute)
			second, want := w.runtime.next(), []string{tryingAgain, interrupted}
			if !sends {
				second.says("hi")
				want[1] = "hi"
			} else if second != nil {
				t.Error("what was sent already is being made again")
			}
			if diff := cmp.Diff(want, w.texts()); diff != "" {
				t.Error(diff)
			}
			w.write("family", "2", "and now?")
			time.Sleep(5 * time.Minute)
			if sends && w.runtime.next() == nil {
				t.Error("the next message finds no assistant")
			}
		})
	}
}

// TestMemoryIsNamed tells chat and operator what an assistant lacked.
func TestMemoryIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "hello")
		for range 2 {
			w.runtime.next().exit(errMemory)
			time.Sleep(10 * time.Second)
		}
		a := w.runtime.next() // its CLI is what was killed, and it lives to tell
		a.verdict = errMemory
		a.outputs <- runtime.Output{Status: runtime.Failure, Error: "claude: killed"}
		synctest.Wait()
		if diff := cmp.Diff([]string{outOfRoom, outOfMemory}, w.texts()); diff != "" {
			t.Error(diff)
		}
		if got, want := w.m.Status()[0].LastError, `the assistant reports: "claude: killed"; `+runtime.ErrStopped.Error()+"; "+errMemory.Error(); got != want {
			t.Errorf("the operator reads %q, want %q", got, want)
		}
	})
}

// TestALostRunSentSomethingWhileTheNextOneStarted: the engine ends the container of the lost run
// only then, and the look before the start had found nothing.
func TestALostRunSentSomethingWhileTheNextOneStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "hello")
		lost := w.runtime.next()
		time.Sleep(time.Second)
		w.runtime.before = w.toolSends
		lost.exit(errLost)
		time.Sleep(time.Minute)
		if second := w.runtime.next(); second == nil || !second.stopped.Load() {
			t.Error("what was sent already is being made again")
		}
		equal(t, "told", w.texts(), []string{tryingAgain, interrupted})
		w.runtime.before = nil
		w.write("family", "2", "and now?")
		time.Sleep(5 * time.Minute)
		third := w.runtime.next()
		if third == nil {
			t.Fatal("the next message finds no assistant")
		}
		third.says("hi")
		equal(t, "told after that", w.texts(), []string{tryingAgain, interrupted, "hi"})
	})
}

// What waited for an engine was tried again up to half a minute after it was back.
func TestAnEngineThatIsBackIsTriedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.runtime.refuses(errAway)
		w.write("family", "1", "hello")
		time.Sleep(time.Hour)
		w.runtime.refuses(nil)
		began := time.Now()
		w.m.Reload()
		if w.runtime.next() == nil || time.Since(began) > 0 {
			t.Error("the message still waits")
		}
	})
}

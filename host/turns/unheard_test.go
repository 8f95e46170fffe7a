package turns_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/turns"
)

// TestAChatHearsThatASessionDoesNotTakeItsMessages: the program that pushes them goes on
// fetching, which does not mean that the session has them. An acknowledgement, or that nothing
// waits any more, ends the trouble.
func TestAChatHearsThatASessionDoesNotTakeItsMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := elsewhere(t, nil)
		defer w.run()()
		unheard := func(id string, want bool) {
			t.Helper()
			if waits, err := w.m.Unheard("family", "", id); waits != want || err != nil {
				t.Errorf("waits: %t, %v", waits, err)
			}
			synctest.Wait()
		}
		cause := func() string { return string(w.m.Status()[0].Cause) }
		w.write("family", "1", "hello")
		id := w.fetches("family", "").Messages[0].ID
		unheard(id, true)
		w.fetches("family", "")
		unheard(id, true)
		time.Sleep(time.Minute)
		w.fetches("family", "")
		synctest.Wait()
		equal(t, "told", w.texts(), []string{"The assistant is not connected at the moment. Your message is kept for 24 hours and answered when the assistant is back."})
		if s := w.m.Status()[0]; s.Cause != "not_fetched" || s.LastError != "the messages are pushed into its session, and the session does not take them" {
			t.Errorf("%+v", s)
		}
		if !w.acks("family", "", id, "I am back.") || cause() != "" {
			t.Error("after an acknowledgement:", cause())
		}
		unheard(id, false)
		w.write("family", "2", "hello")
		id = w.fetches("family", "").Messages[0].ID
		unheard(id, true)
		if cause() != "not_fetched" {
			t.Error("the second time:", cause())
		}
		w.write("family", "3", "/stop")
		synctest.Wait()
		time.Sleep(time.Hour + time.Second)
		synctest.Wait()
		if cause() != "" {
			t.Error("nothing waits:", cause())
		}
		if _, err := w.m.Unheard("family", "t1", id); !errors.Is(err, turns.ErrNoMessage) {
			t.Error("another thread's id:", err)
		}
	})
}

package turns_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/runtime"
)

func TestAMemberWhoWritesWithoutEndIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls = 1000 // that one prompt has no more room for
		w := newWorld(t, nil)
		w.run()
		w.write("family", "first", "first")
		a := w.runtime.next()
		for i := range calls + 100 { // nothing of it is read
			w.write("family", fmt.Sprint(i), fmt.Sprintf("message %d.", i))
			if i < 100 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		got := a.reads()
		if len(got) != 32 {
			t.Fatalf("%d follow-ups lie there", len(got))
		}
		if n := w.kept("family"); n > 1+len(got)+calls {
			t.Errorf("%d messages are on disk", n)
		}
		a.says("answer")
		got = a.reads()
		if len(got) != 1 {
			t.Fatalf("%d follow-ups after the answer", len(got))
		}
		has(t, got[0], fmt.Sprintf("message %d.", calls+99))
		a.says("answer to the rest")
		a.exit(nil)
		time.Sleep(time.Hour)
		if w.runtime.next() != nil || w.kept("family") != 0 {
			t.Error("another assistant was started, or messages are left")
		}
	})
}

// TestATurnLastsNoLongerForSayingNothing is the same of an assistant that has
// a follow-up which it never answers.
func TestATurnLastsNoLongerForSayingNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "hello")
		a := w.runtime.next()
		w.write("family", "2", "and this")
		synctest.Wait()
		a.says("hi") // the follow-up lies there still
		for range 3 {
			time.Sleep(9 * time.Minute)
			a.outputs <- runtime.Output{Status: runtime.Success}
		}
		time.Sleep(9 * time.Minute)
		synctest.Wait()
		if !a.stopped.Load() {
			t.Error("it was not ended")
		}
		a.exit(nil)
	})
}

// TestAnIdleAssistantLivesNoLongerForSayingNothing has something that outlived
// its turn write outputs without words, and session ids, as fast as it can.
func TestAnIdleAssistantLivesNoLongerForSayingNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "hello")
		a := w.runtime.next()
		a.says("hi")
		began, asked := time.Now(), false
		for n := 0; !asked; n++ {
			if n > 31*20+10 {
				t.Fatalf("the host hears %d outputs within %s, and does not ask it to end", n, time.Since(began))
			}
			a.outputs <- runtime.Output{Status: runtime.Success, NewSessionID: fmt.Sprint(n)}
			asked = slices.Equal(a.reads(), []string{"_close"})
		}
		if took := time.Since(began); took > 31*time.Minute {
			t.Errorf("it was asked to end after %s", took)
		}
		a.exit(nil)
	})
}

func TestAnswersWaitForRoomInTheOutboxAndNotForEver(t *testing.T) {
	for name, c := range map[string]struct {
		full time.Duration
		want []string
	}{
		"a while":  {time.Minute, []string{"answer"}},
		"for ever": {time.Hour, []string{"The assistant could not answer. It is being asked again."}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				room := time.Now().Add(c.full)
				w := newWorld(t, func(o *options) {
					o.Room = func(string) error {
						if time.Now().Before(room) {
							return errors.New("64 messages of this group are still waiting")
						}
						return nil
					}
				})
				w.run()
				w.write("family", "1", "hello")
				a := w.runtime.next()
				a.says("answer")
				if texts := w.texts(); len(texts) != 0 {
					t.Errorf("said without room: %q", texts)
				}
				time.Sleep(10 * time.Minute)
				if diff := cmp.Diff(c.want, w.texts()); diff != "" {
					t.Error(diff)
				}
				a.exit(nil)
			})
		})
	}
}

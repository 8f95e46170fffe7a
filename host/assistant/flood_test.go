package assistant_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/assistant"
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

func TestAnswersWaitForRoomInTheOutboxAndNotForEver(t *testing.T) {
	for name, c := range map[string]struct {
		full time.Duration
		want []string
	}{
		"a while":  {time.Minute, []string{"answer"}},
		"for ever": {time.Hour, []string{"The assistant stopped unexpectedly. It is being started again."}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				room := time.Now().Add(c.full)
				w := newWorld(t, func(o *assistant.Options) {
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

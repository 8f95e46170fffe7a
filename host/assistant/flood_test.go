package assistant_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
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

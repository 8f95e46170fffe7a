package turns_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestAnOutputEndsOnlyWhatItNames: an assistant read the second message after
// it had made its answer to the first, and before the host had heard that. Then
// it died with the second.
func TestAnOutputEndsOnlyWhatItNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "first")
		a := w.runtime.next()
		w.write("family", "2", "second")
		synctest.Wait()
		has(t, a.reads()[0], "second")
		a.answers("answer to the first", []string{})
		if s := w.m.Status()[0]; s.State != "running" || w.kept("family") != 1 {
			t.Errorf("state %s with %d messages on disk", s.State, w.kept("family"))
		}
		a.exit(errCrash)
		time.Sleep(time.Minute)
		b := w.runtime.next()
		has(t, b.input.Prompt, "second")
		w.write("family", "3", "third")
		synctest.Wait()
		names := b.lie()
		has(t, b.reads()[0], "third")
		b.answers("answer to both", append(names, "planted.json"))
		if n := w.kept("family"); n != 0 {
			t.Errorf("%d messages on disk", n)
		}
		if diff := cmp.Diff([]string{"answer to the first", tryingAgain, "answer to both"}, w.texts()); diff != "" {
			t.Error(diff)
		}
	})
}

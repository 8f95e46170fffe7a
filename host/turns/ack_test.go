package turns_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// The chat shows which message is worked on: until the answer, and also if the host
// dies meanwhile.
func TestTheMessageThatIsWorkedOnIsReactedToUntilTheTurnIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := group("family")
		g.Ack = "👀"
		var got []string
		keys := map[string]bool{}
		w := newWorld(t, func(o *options) {
			o.React = func(_ context.Context, folder, _, target, emoji, key string) error {
				if !keys[key] {
					got = append(got, folder+" "+target+" "+emoji)
				}
				keys[key] = true
				return nil
			}
		}, g)
		end := w.run()
		w.write("family", "1", "first")
		a := w.runtime.next()
		synctest.Wait()
		if diff := cmp.Diff([]string{"family 1 👀"}, got); diff != "" {
			t.Error(diff)
		}
		w.write("family", "2", "and more")
		synctest.Wait()
		a.reads()
		a.says("done")
		synctest.Wait()
		slices.Sort(got)
		if diff := cmp.Diff([]string{"family 1 ", "family 1 👀", "family 2 ", "family 2 👀"}, got); diff != "" {
			t.Error(diff)
		}
		got = nil
		w.write("family", "3", "again")
		synctest.Wait()
		end() // the host ends in the turn
		w = w.restart()
		w.run()
		w.runtime.next().says("done")
		synctest.Wait()
		if diff := cmp.Diff([]string{"family 3 👀", "family 3 "}, got); diff != "" {
			t.Error(diff)
		}
	})
}

package turns_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/setting"
)

// gathering is a group with a trigger whose messages are gathered.
func gathering(folder, trigger string) groups.Group {
	g := group(folder)
	g.Trigger = trigger
	g.Gather = groups.Gather{After: setting.Duration(1500 * time.Millisecond), Most: setting.Duration(10 * time.Second)}
	return g
}

// Words, a trigger and two files in every order are one turn, which starts when
// nothing has followed for a while.
func TestABurstIsOneTurnInEveryOrder(t *testing.T) {
	steps := []string{"words", "@Andy", "first", "second"}
	for _, order := range orders(steps) {
		t.Run(strings.Join(order, ","), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &platform{give: func(context.Context, channel.FileRef, int) (string, error) {
					time.Sleep(time.Second)
					return "bytes", nil
				}}
				w := fetching(t, p, gathering("family", "@Andy"))
				w.run()
				for i, step := range order {
					if i > 0 {
						time.Sleep(time.Second)
					}
					if step == "first" || step == "second" {
						w.brings("family", step, "", step)
					} else {
						w.write("family", step, step)
					}
					if w.runtime.next() != nil {
						t.Fatalf("a turn started at step %d", i+1)
					}
				}
				time.Sleep(3 * time.Second)
				a := w.runtime.next()
				if a == nil {
					t.Fatal("no turn started")
				}
				has(t, a.input.Prompt, ">words<", ">@Andy<", `path="/workspace/group/inbox/first.txt"`, `path="/workspace/group/inbox/second.txt"`)
				a.says("seen")
				time.Sleep(time.Minute)
				if got := a.reads(); len(got) > 0 || w.runtime.next() != nil || len(w.texts()) != 1 {
					t.Errorf("the burst was more than one turn: %q", got)
				}
			})
		})
	}
}

func orders(all []string) (out [][]string) {
	if len(all) == 0 {
		return [][]string{nil}
	}
	for i, first := range all {
		for _, rest := range orders(slices.Concat(all[:i], all[i+1:])) {
			out = append(out, append([]string{first}, rest...))
		}
	}
	return out
}

// A flood puts the turn off by ten seconds, not for ever, and reaches the assistant
// in handfuls after that.
func TestAFloodPutsTheTurnOffNoLongerThanTheMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, gathering("family", "@Andy"))
		w.run()
		for i := range 5 { // before the call, which do not count
			w.write("family", fmt.Sprint("before ", i), "chatter")
			time.Sleep(time.Second)
		}
		called := time.Now()
		w.write("family", "call", "@Andy look")
		var a *actor
		for i := 0; a == nil; i++ {
			time.Sleep(time.Second)
			w.write("family", fmt.Sprint("flood ", i), "@Andy more")
			a = w.runtime.next()
			if waited := time.Since(called); waited > 11*time.Second {
				t.Fatalf("no turn after %s", waited)
			}
		}
		if waited := time.Since(called); waited < 10*time.Second {
			t.Errorf("the turn started after %s", waited)
		}
		if n := strings.Count(a.input.Prompt, ">chatter<"); n != 5 {
			t.Errorf("%d of the messages before the call are there", n)
		}
		for i := range 25 {
			w.write("family", fmt.Sprint("later ", i), "@Andy still more")
			time.Sleep(time.Second)
		}
		synctest.Wait()
		got := a.reads()
		if len(got) != 2 {
			t.Errorf("%d follow-ups in 25 seconds, want 2", len(got))
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if n := strings.Count(strings.Join(append(got, a.reads()...), ""), "still more"); n != 25 {
			t.Errorf("%d of 25 messages reached the running turn", n)
		}
	})
}

// Follow-ups are gathered like first messages: while the assistant is busy, and
// while it rests.
func TestFollowUpsAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, gathering("family", ""))
		w.run()
		w.write("family", "1", "first")
		time.Sleep(1500 * time.Millisecond)
		a := w.runtime.next()
		for _, state := range []string{"busy", "resting"} {
			w.write("family", state+" 1", state+" one")
			time.Sleep(time.Second)
			w.write("family", state+" 2", state+" two")
			synctest.Wait()
			if got := a.lie(); len(got) > 0 {
				t.Fatalf("%s: handed over at once: %q", state, got)
			}
			time.Sleep(1500 * time.Millisecond)
			synctest.Wait()
			got := a.reads()
			if len(got) != 1 {
				t.Fatalf("%s: %d follow-ups", state, len(got))
			}
			has(t, got[0], state+" one", state+" two")
			a.says("done")
		}
	})
}

// A host that dies while a burst is gathered: the next one goes on with it.
func TestABurstSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, gathering("family", "@Andy"))
		end := w.run()
		w.write("family", "1", "one of three")
		w.write("family", "2", "@Andy two of three")
		synctest.Wait()
		next := w.restart()
		end()
		next.run()
		time.Sleep(time.Second)
		next.write("family", "3", "three of three")
		if next.runtime.next() != nil {
			t.Fatal("the next host did not gather")
		}
		time.Sleep(1500 * time.Millisecond)
		a := next.runtime.next()
		if a == nil {
			t.Fatal("the next host forgot the burst")
		}
		has(t, a.input.Prompt, "one of three", "two of three", "three of three")
	})
}

// A burst waits for its slow files as one message does, and no longer; of a file
// that comes late, the running turn hears, although its message did not call.
func TestASlowFileOfABurstIsToldToTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &platform{give: func(context.Context, channel.FileRef, int) (string, error) {
			time.Sleep(30 * time.Second)
			return "bytes", nil
		}}
		w := fetching(t, p, gathering("family", "@Andy"))
		w.run()
		w.brings("family", "1", "", "slow")
		time.Sleep(time.Second)
		w.write("family", "2", "@Andy what is this?")
		time.Sleep(13 * time.Second)
		if w.runtime.next() != nil {
			t.Fatal("the burst did not wait for its file")
		}
		time.Sleep(time.Second)
		a := w.runtime.next()
		has(t, a.input.Prompt, "what is this?", "not_stored=")
		time.Sleep(16 * time.Second)
		synctest.Wait()
		got := a.reads()
		if len(got) != 1 {
			t.Fatalf("%d follow-ups", len(got))
		}
		has(t, got[0], "/workspace/group/inbox/slow.txt")
	})
}

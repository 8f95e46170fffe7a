package turns_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/internal/cause"
)

const (
	busy      = "The model is busy; the assistant is still trying."
	busyAgain = "The model is busy. The assistant tries again."
	noKey     = "The model's service does not accept the assistant's key. An operator has to see to it. Your message is kept for 24 hours and answered after that."
)

// reports is an assistant that says what keeps its model from answering; an empty
// cause: nothing any more.
func (a *actor) reports(c cause.Cause, seconds int) {
	a.outputs <- runtime.Output{Status: runtime.Waiting, Cause: string(c), Error: "status 429", Seconds: seconds}
	synctest.Wait()
}

// breaks is an assistant whose turn fails.
func (a *actor) breaks(c cause.Cause) {
	a.outputs <- runtime.Output{Status: runtime.Failure, Cause: string(c), Error: "the model says no"}
	synctest.Wait()
}

func (w *world) hasHeard(want ...string) {
	w.t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(want, w.texts()); diff != "" {
		w.t.Errorf("the chat (-want +got):\n%s", diff)
	}
}

func TestABusyModelIsToldAfterAMinuteAndSoIsItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "hello")
		a := w.runtime.next()
		a.reports(cause.Busy, 3)
		if s := w.m.Status()[0]; s.Cause != cause.Busy || s.State != "running" || s.LastError != "status 429" {
			t.Errorf("the operator does not know at once: %+v", s)
		}
		time.Sleep(56 * time.Second)
		w.hasHeard()
		a.reports(cause.Busy, 59) // another retry
		time.Sleep(time.Second)
		w.hasHeard(busy)
		time.Sleep(5 * time.Minute)
		a.reports("", 0)
		time.Sleep(11 * time.Second)
		w.hasHeard(busy, "The model answers again.")
		if s := w.m.Status()[0]; s.Cause != "" {
			t.Errorf("the operator reads %+v", s)
		}
		time.Sleep(5 * time.Minute)
		a.reports(cause.Busy, 60) // once more
		w.hasHeard(busy, "The model answers again.", busy)
		a.says("hi")
		w.hasHeard(busy, "The model answers again.", busy, "hi")
	})
}

func TestAnAnswerIsTheEndOfTheTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "hello")
		a := w.runtime.next()
		a.reports(cause.Silent, 30)
		time.Sleep(31 * time.Second)
		a.reports("", 0)
		a.says("hi")
		time.Sleep(time.Minute)
		w.hasHeard("The model is not answering; the assistant is still trying.", "hi")
	})
}

func TestTroubleThatPassesSoonIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "hello")
		a := w.runtime.next()
		a.reports(cause.Busy, 0)
		time.Sleep(30 * time.Second)
		a.reports("", 0)
		time.Sleep(2 * time.Minute)
		w.hasHeard()
	})
}

// The words about a busy model looked as if the turn had sent them, which then was
// not tried again.
func TestWordsAboutTroubleDoNotCountAsSent(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, nil)
			end := w.run()
			w.write("family", "1", "hello")
			a := w.runtime.next()
			a.reports(cause.Busy, 60)
			w.hasHeard(busy)
			if restarts {
				killed := w.restart()
				end()
				w = killed
				w.run()
			} else {
				a.breaks(cause.Busy)
				a.exit(errCrash)
				time.Sleep(2 * time.Second)
			}
			b := w.runtime.next()
			if b == nil {
				t.Fatal("the turn is not tried again")
			}
			b.says("hi")
			w.hasHeard(busy, "hi")
		})
	}
}

func TestATurnThatSentBesidesTheWordsAboutTroubleIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "hello")
		a := w.runtime.next()
		w.toolSends()
		a.reports(cause.Busy, 60)
		a.breaks(cause.Busy)
		time.Sleep(time.Hour)
		w.hasHeard(busy, "The model is busy, so the assistant stopped in the middle of its answer. Please ask again for what is missing.")
		if w.runtime.next() != nil {
			t.Error("the turn is run again")
		}
	})
}

func TestAKeyThatIsNotAcceptedKeepsTheMessages(t *testing.T) {
	for name, remedy := range map[string]func(*world) *world{
		"a reload":    func(w *world) *world { w.m.Reload(); return w },
		"by itself":   func(w *world) *world { time.Sleep(10 * time.Minute); return w },
		"a restart":   func(w *world) *world { next := w.restart(); next.run(); return next },
		"the other's": func(w *world) *world { return w.otherIsAnswered() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil, group("family"), group("work"))
				w.run()
				w.write("family", "1", "hello")
				for range 8 { // more often than a turn is tried
					if a := w.runtime.next(); a != nil {
						a.breaks(cause.Key)
					}
					time.Sleep(5 * time.Minute)
				}
				w.hasHeard(noKey)
				w.write("family", "2", "anybody?")
				for a := w.runtime.next(); a != nil; a = w.runtime.next() {
					a.breaks(cause.Key)
				}
				if s := w.m.Status()[0]; s.Cause != cause.Key || s.State != "waiting" || s.Kept != 2 {
					t.Errorf("status %+v", s)
				}
				w = remedy(w)
				a := w.runtime.next()
				if a == nil {
					t.Fatal("the messages are not handed over")
				}
				has(t, a.input.Prompt, "hello", "anybody?")
				a.says("hi")
				if texts := w.texts(); texts[0] != noKey || texts[len(texts)-1] != "hi" {
					t.Errorf("the chat hears %q", texts)
				}
			})
		})
	}
}

// otherIsAnswered has another group with the same assistant find out that the key is
// accepted.
func (w *world) otherIsAnswered() *world {
	w.write("work", "1", "hello")
	a := w.runtime.next()
	a.breaks(cause.Key)
	time.Sleep(time.Minute)
	for a = w.runtime.next(); a.spec.Group.Folder != "work"; a = w.runtime.next() {
		a.breaks(cause.Key)
	}
	a.says("here I am")
	return w
}

func TestMessagesWaitForAnOperatorForADayAndNotMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.runtime.refuses(cause.With(cause.Image, fmt.Errorf("no such image")))
		w.run()
		w.write("family", "1", "hello")
		time.Sleep(20 * time.Hour)
		w.write("family", "2", "anybody?")
		time.Sleep(5 * time.Hour)
		kept := "The assistant's image is missing. An operator has to see to it. Your message is kept for 24 hours and answered after that."
		gone := "One message was not answered: the assistant cannot answer at the moment, and messages are kept for 24 hours and up to 100 of them. Please send again what still matters."
		w.hasHeard(kept, gone)
		for i := range 101 {
			w.write("family", fmt.Sprint("more", i), "and "+strings.Repeat("x", 9<<10))
		}
		time.Sleep(time.Second)
		if s := w.m.Status()[0]; s.Kept != 100 {
			t.Errorf("%d messages are kept", s.Kept)
		}
		w.write("family", "large", strings.Repeat("y", 300<<10))
		time.Sleep(time.Second)
		if s := w.m.Status()[0]; s.Kept < 50 || s.Kept > 90 {
			t.Errorf("%d messages are kept", s.Kept)
		}
		w.runtime.refuses(nil)
		w.m.Reload()
		if a := w.runtime.next(); a == nil || strings.Contains(a.input.Prompt, "anybody?") {
			t.Error("the newest messages are not handed over")
		}
	})
}

func TestAStartThatTakesLongIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := slowStart{stage: &stage{started: make(chan *actor, 1)}, wait: make(chan struct{})}
		w := newWorld(t, func(o *options) { o.Runtime = in })
		w.run()
		w.write("family", "1", "hello")
		time.Sleep(61 * time.Second)
		w.hasHeard(notThere)
		if s := w.m.Status()[0]; s.Cause != cause.Engine {
			t.Errorf("status %+v", s)
		}
		close(in.wait)
		in.next().says("hi")
		w.hasHeard(notThere, "hi")
	})
}

// slowStart is an engine that takes its time.
type slowStart struct {
	*stage
	wait chan struct{}
}

func (s slowStart) Start(ctx context.Context, spec runtime.Spec) (runtime.Session, error) {
	select {
	case <-s.wait:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.stage.Start(ctx, spec)
}

func TestANewChatHearsOnceHowTheAssistantIsCalled(t *testing.T) {
	for _, c := range []struct {
		chat  groups.JID
		hints groups.Hints
		told  bool
	}{
		{"slack:C1", groups.HintsOn, true},
		{"slack:C1", groups.AutoHints, false},
		{"slack:D1", groups.AutoHints, true},
		{"slack:D1", groups.HintsOff, false},
		{"web:family", groups.HintsOn, false}, // the page shows it
	} {
		synctest.Test(t, func(t *testing.T) {
			g := group("family")
			g.Trigger, g.Chat, g.Hints = "@Andy", c.chat, c.hints
			write := func(w *world, id, text string) {
				check(t, w.m.Receive(t.Context(), "family", channel.Inbound{ID: id, Chat: c.chat, From: "Ann", Text: text, Time: time.Now()}))
			}
			w := newWorld(t, nil, g)
			end := w.run()
			write(w, "1", "hello?")
			write(w, "2", "anybody?")
			var want []string
			if c.told {
				want = []string{"The assistant answers messages that contain @Andy."}
			}
			w.hasHeard(want...)
			end()
			w = w.restart()
			w.run()
			write(w, "3", "hello??")
			w.hasHeard(want...)
		})
	}
}

func TestAChatThatCallsItsAssistantNeedsNoHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := group("family")
		g.Trigger, g.Chat = "@Andy", "slack:D1"
		w := newWorld(t, nil, g)
		w.run()
		check(t, w.m.Receive(t.Context(), "family", channel.Inbound{ID: "1", Chat: g.Chat, From: "Ann", Text: "hello @Andy", Time: time.Now()}))
		w.runtime.next().says("hi")
		check(t, w.m.Receive(t.Context(), "family", channel.Inbound{ID: "2", Chat: g.Chat, From: "Ann", Text: "thanks", Time: time.Now()}))
		w.hasHeard("hi")
	})
}

// A model whose answers break off showed a sign of life with each attempt, so that its
// trouble never lasted for a minute.
func TestTroubleWithSignsOfLifeIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "hello")
		a := w.runtime.next()
		for range 4 {
			a.reports(cause.Unreachable, 0)
			time.Sleep(19 * time.Second)
			a.reports("", 0)
			time.Sleep(time.Second)
		}
		w.hasHeard("The model cannot be reached; the assistant is still trying.")
	})
}

package turns_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// writes is a member with an id and a role who writes to a group.
func (w *world) writes(folder string, in channel.Inbound) {
	w.t.Helper()
	in.Chat, in.Time = groups.JID("web:"+folder), time.Now()
	check(w.t, w.m.Receive(w.t.Context(), folder, in))
	synctest.Wait()
}

func (w *world) admin(id, text string) {
	w.t.Helper()
	w.writes("family", channel.Inbound{ID: id, Sender: "ann", Role: channel.RoleAdmin, Text: text})
}

// lastSaid is what the chat has heard last.
func (w *world) lastSaid() string {
	synctest.Wait()
	all := w.texts()
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

func TestAStoppedTurnIsNeitherFailedNorTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *options) {
			o.Sent = func(string, string, time.Time) (arrived, underWay []string, err error) {
				return []string{"a`b.pdf", ""}, []string{"c.pdf"}, nil
			}
		})
		w.run()
		w.write("family", "1", "work without end")
		a := w.runtime.next()
		w.write("family", "2", "and more")
		w.toolSends()
		w.write("family", "3", "/stop")
		synctest.Wait()
		if !a.stopped.Load() {
			t.Fatal("the turn goes on")
		}
		has(t, w.lastSaid(), "The assistant was stopped.", "Sent already: `a'b.pdf`, 1 text.", "Still on the way, and not called back: `c.pdf`.")
		time.Sleep(time.Hour)
		if n := len(w.texts()); n != 1 || w.runtime.next() != nil || w.kept("family") != 0 {
			t.Errorf("%q was said, %d messages are kept", w.texts(), w.kept("family"))
		}
		if s := w.m.Status()[0]; s.State != "idle" || s.Failures != 0 || s.LastError != "" {
			t.Errorf("the status is %+v", s)
		}
		w.write("family", "4", "hello")
		if a = w.runtime.next(); a == nil || strings.Contains(a.input.Prompt, "work without end") {
			t.Fatal("the next message is not answered, or the stopped one is too")
		}
		a.says("hi")
		if w.lastSaid() != "hi" {
			t.Errorf("said: %q", w.texts())
		}
	})
}

// A stop ends what waits too: for its turn, for room, and for another attempt.
func TestAStopEndsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *options) { o.Backoff = time.Minute })
		w.run()
		w.runtime.refuses(errors.New("no engine"))
		w.write("family", "1", "hello")
		synctest.Wait()
		w.write("family", "2", "hello again")
		w.write("family", "3", "/stop")
		has(t, w.lastSaid(), "2 messages that waited will not be answered.")
		w.runtime.refuses(nil)
		time.Sleep(time.Hour)
		if w.runtime.next() != nil || w.kept("family") != 0 {
			t.Error("a message that was called back is answered")
		}
		w.write("family", "4", "/stop")
		if w.lastSaid() != "Nothing is running here." {
			t.Errorf("said: %q", w.texts())
		}
	})
}

// An operator's stop is a member's for the whole chat, and nothing is said if nothing runs.
func TestAnOperatorStopsAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		if turns, waited, err := w.m.StopGroup("family"); turns != 0 || waited != 0 || err != nil || len(w.texts()) != 0 {
			t.Errorf("with nothing to stop: %d, %d, %v, said %q", turns, waited, err, w.texts())
		}
		w.write("family", "1", "work without end")
		a := w.runtime.next()
		turns, waited, err := w.m.StopGroup("family")
		synctest.Wait()
		if turns != 1 || waited != 0 || err != nil || !a.stopped.Load() {
			t.Errorf("stopped %d turns and %d messages, %v", turns, waited, err)
		}
		has(t, w.lastSaid(), "The assistant was stopped.")
		time.Sleep(time.Hour)
		if w.runtime.next() != nil || w.kept("family") != 0 {
			t.Error("it is tried again")
		}
		if _, _, err := w.m.StopGroup("nobody"); err == nil {
			t.Error("a group that does not exist was stopped")
		}
	})
}

// An assistant that is being started, that talks on while it is being ended, and
// that a member writes to in that moment.
func TestAMessageAfterAStopIsAnsweredAndNoneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		for i := range 20 {
			w.write("family", fmt.Sprint("a", i), "before")
			if i%2 == 0 {
				synctest.Wait() // it runs
			}
			w.write("family", fmt.Sprint("b", i), "/stop")
			w.write("family", fmt.Sprint("c", i), "after")
			a := w.runtime.next()
			for more := a; more != nil; more = w.runtime.next() {
				a = more
			}
			if a == nil || a.stopped.Load() || strings.Contains(a.input.Prompt, "before") || !strings.Contains(a.input.Prompt, "after") {
				t.Fatalf("round %d: %+v", i, a)
			}
			a.says("answered")
			a.exit(nil)
			if w.lastSaid() != "answered" || w.kept("family") != 0 {
				t.Fatalf("round %d: %q, %d kept", i, w.texts(), w.kept("family"))
			}
			time.Sleep(time.Hour)
		}
	})
}

func TestANewConversationForgetsTheOldOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := group("family")
		g.Trigger = "@Andy"
		w := newWorld(t, nil, g)
		w.run()
		w.admin("1", "@Andy hello")
		a := w.runtime.next()
		a.says("hi")
		w.admin("2", "between us")
		w.admin("3", "@Andy: /new tell me a joke")
		if !a.stopped.Load() {
			t.Fatal("the old conversation goes on")
		}
		has(t, w.lastSaid(), "A new conversation begins", "please write that again")
		w.admin("4", "@Andy who am I?")
		a = w.runtime.next()
		if a.input.SessionID != "" || strings.Contains(a.input.Prompt, "between us") || strings.Contains(a.input.Prompt, "joke") {
			t.Errorf("it remembers: %+v", a.input)
		}
	})
}

// The host is killed at any moment after the order was kept.
func TestAnOrderOutlivesTheHost(t *testing.T) {
	for _, text := range []string{"/stop", "/new"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, nil)
			end := w.run()
			w.admin("0", "hello")
			w.runtime.next().says("hi") // a session is known
			w.admin("1", "work without end")
			w.toolSends()
			w.refuse = 100
			w.admin("2", text)
			killed := w.restart() // of the order and the turn's end, nothing was told
			end()
			killed.admin("2", text) // the channel gives it once more
			killed.run()
			synctest.Wait()
			if n := len(killed.texts()); n != 2 || !strings.HasPrefix(killed.lastSaid(), "The assistant was stopped.") {
				t.Errorf("%s: said: %q", text, killed.texts())
			}
			time.Sleep(time.Hour)
			if killed.runtime.next() != nil || killed.kept("family") != 0 {
				t.Errorf("%s: the stopped turn runs again", text)
			}
			killed.admin("3", "hello")
			if a := killed.runtime.next(); a == nil || (a.input.SessionID == "") != (text == "/new") {
				t.Errorf("%s: %+v", text, a)
			}
			end2 := killed.restart()
			if len(end2.texts()) != 2 {
				t.Errorf("%s: told again: %q", text, end2.texts())
			}
		})
	}
}

// Nothing was carried out before the host was killed: the turn lies on the disk.
func TestAnOrderIsCarriedOutByTheNextHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil) // does not run
		w.admin("1", "work without end")
		w.admin("2", "/stop")
		w.admin("3", "hello")
		killed := w.restart()
		killed.run()
		a := killed.runtime.next()
		if a == nil || strings.Contains(a.input.Prompt, "without end") || !strings.Contains(a.input.Prompt, "hello") {
			t.Fatalf("%+v", a)
		}
		has(t, strings.Join(killed.texts(), " "), "One message that waited will not be answered.")
	})
}

func TestAWordInAThreadConcernsThatThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *options) { o.Limits.Threads = 10 }, func() groups.Group {
			g := group("family")
			g.Parallel = 3
			return g
		}())
		w.run()
		w.writeIn("family", "t1", "1", "one")
		one := w.runtime.next()
		w.writeIn("family", "t2", "2", "two")
		two := w.runtime.next()
		w.writeIn("family", "t3", "3", "/stop")
		if w.lastSaid() != "Nothing is running here." || one.stopped.Load() || two.stopped.Load() {
			t.Fatalf("a stop in another thread: %q", w.texts())
		}
		w.writeIn("family", "t2", "4", "/stop")
		synctest.Wait()
		if one.stopped.Load() || !two.stopped.Load() {
			t.Fatal("a stop ends the wrong turn")
		}
		w.writeIn("family", "5", "5", "/status") // begins a thread: it is for the chat
		has(t, w.lastSaid(), "In another thread: It has been working for")
		w.writeIn("family", "6", "6", "/stop")
		synctest.Wait()
		if !one.stopped.Load() {
			t.Error("a stop of the chat leaves a thread running")
		}
	})
}

// TestContextFromBeforeANewConversationCameBack: what was too much to keep waited for the next
// message's transaction, and the order left it alone. A host that started before that kept it again.
func TestContextFromBeforeANewConversationCameBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := group("family")
		g.Trigger = "@Andy"
		w := newWorld(t, func(o *options) { o.Context = 2 }, g)
		end := w.run()
		for i := range 3 {
			w.admin(fmt.Sprint(i), "an old secret")
		}
		w.admin("3", "@Andy /new")
		synctest.Wait()
		next := w.restart()
		end()
		next.run()
		next.admin("4", "@Andy hello")
		if a := next.runtime.next(); a == nil || strings.Contains(a.input.Prompt, "an old secret") {
			t.Errorf("%+v", a)
		}
	})
}

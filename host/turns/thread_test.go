package turns_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/turns"
)

const (
	startsAnew = "This thread was quiet for long, so the assistant no longer remembers what was said in it."
	waitsTurn  = "The assistant is still busy with another thread of this chat. It answers here as soon as it is done there."
)

// threaded has every chat remember that many threads.
func threaded(keep int) func(*options) {
	return func(o *options) { o.Limits.Threads = keep }
}

// heard are the texts that a thread has seen.
func (w *world) heard(thread string) (texts []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.said {
		if s.Thread == thread {
			texts = append(texts, s.Text)
		}
	}
	return texts
}

// hears checks what a thread has seen.
func (w *world) hears(thread string, want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.heard(thread)); diff != "" {
		w.t.Errorf("thread %q (-want +got):\n%s", thread, diff)
	}
}

// finishes answers and ends, as an assistant does that is asked to.
func (a *actor) finishes(t *testing.T, text string) {
	t.Helper()
	a.says(text)
	if got := a.reads(); !slices.Equal(got, []string{"_close"}) {
		t.Fatalf("after its turn it reads %q", got)
	}
	a.exit(nil)
}

func TestTwoThreadsOfAChatNeverMix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, threaded(50))
		w.run()
		w.writeIn("family", "t1", "1", "the cats")
		a := w.runtime.next()
		w.writeIn("family", "t2", "2", "the dogs")
		time.Sleep(time.Millisecond) // of two messages of one instant none is the first
		w.writeIn("family", "t1", "3", "and their food")
		w.write("family", "4", "the weather")
		if w.runtime.next() != nil {
			t.Fatal("two assistants of one chat run at once")
		}
		got := a.reads()
		if len(got) != 1 {
			t.Fatalf("it reads %q", got)
		}
		has(t, a.input.Prompt+got[0], "the cats", "and their food")
		for _, foreign := range []string{"dogs", "weather"} {
			if strings.Contains(a.input.Prompt+got[0], foreign) {
				t.Errorf("the words of another thread reach its turn: %s", got[0])
			}
		}
		a.finishes(t, "cats it is")
		b := w.runtime.next()
		has(t, b.input.Prompt, "the dogs")
		b.finishes(t, "dogs it is")
		c := w.runtime.next()
		has(t, c.input.Prompt, "the weather")
		if c.input.Thread != "" || c.input.Turn == "" || c.input.SessionID != "" || b.input.SessionID != "" {
			t.Errorf("the chat itself and a new thread begin with %+v and %+v", c.input, b.input)
		}
		c.says("rain")
		w.writeIn("family", "t1", "5", "more of them")
		synctest.Wait()
		c.exit(nil)
		again := w.runtime.next()
		if again.input.SessionID != "session-1" || again.input.Thread != "t1" {
			t.Errorf("the first thread goes on with %+v", again.input)
		}
		w.hears("t1", "cats it is")
		w.hears("t2", "dogs it is")
		w.hears("", "rain")
	})
}

func TestAThreadThatWaitsIsToldWhyAndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, threaded(50))
		w.run()
		w.writeIn("family", "t1", "1", "long work")
		a := w.runtime.next()
		w.writeIn("family", "t2", "2", "a question")
		time.Sleep(time.Minute)
		w.hears("t2", waitsTurn)
		time.Sleep(10 * time.Minute)
		w.hears("t2", waitsTurn)
		// What another thread was told does not look as if this turn had sent it.
		a.exit(errors.New("crash"))
		time.Sleep(time.Minute)
		b := w.runtime.next()
		has(t, b.input.Prompt, "a question") // the first one backs off
		b.says("an answer")
		b.exit(nil)
		time.Sleep(time.Minute)
		again := w.runtime.next()
		if again == nil {
			t.Fatal("the turn that broke is not tried again")
		}
		has(t, again.input.Prompt, "long work")
		again.says("done")
		w.hears("t1", tryingAgain, waitsTurn, "done")
		w.hears("t2", waitsTurn, "an answer")
	})
}

// Each of a thousand threads was told that it waits, and all answers came after these
// words, at the chat's rate.
func TestAFloodOfThreadsFillsNoChatWithWordsOfWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, threaded(50))
		w.run()
		w.writeIn("family", "t0", "0", "long work")
		a := w.runtime.next()
		for i := range 30 {
			w.writeIn("family", fmt.Sprint("flood", i), fmt.Sprint(i), "a question")
		}
		time.Sleep(10 * time.Minute)
		if n := len(w.texts()); n != 20 {
			t.Errorf("%d threads were told that they wait", n)
		}
		a.finishes(t, "done")
		b := w.runtime.next()
		synctest.Wait()
		if n := len(w.texts()); n != 1+20+1 {
			t.Errorf("after another one's turn began there are %d texts", n)
		}
		b.exit(nil)
	})
}

// TestABusyThreadDoesNotKeepOthersWaitingForEver has members of one thread write
// on and on.
func TestABusyThreadDoesNotKeepOthersWaitingForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, threaded(50))
		w.run()
		w.writeIn("family", "t1", "0", "a story")
		a := w.runtime.next()
		w.writeIn("family", "t2", "other", "a question")
		handed := 0
		for i := range 10 {
			w.writeIn("family", "t1", fmt.Sprint("more ", i), "and then?")
			synctest.Wait()
			a.says("this") // what it has not read is not answered
			read := a.reads()
			if slices.Contains(read, "_close") {
				break
			}
			handed += len(read)
			time.Sleep(time.Minute)
		}
		if handed < 4 {
			t.Errorf("%d messages were handed over before the other thread had waited long", handed)
		}
		a.exit(nil)
		if b := w.runtime.next(); b == nil || b.input.Thread != "t2" {
			t.Fatal("the other thread still waits")
		}
	})
}

// TestAGroupThatLeavesAndComesBackFindsItsThreads removes it with one thread at
// work and another that waits.
func TestAGroupThatLeavesAndComesBackFindsItsThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, threaded(50), group("family"), group("work"))
		w.run()
		w.writeIn("family", "t1", "1", "the cats")
		w.runtime.next()
		w.writeIn("family", "t2", "2", "the dogs")
		synctest.Wait()
		w.reload(group("work"))
		time.Sleep(time.Minute)
		w.reload(group("family"), group("work"))
		for range 2 {
			a := w.runtime.next()
			if a == nil {
				t.Fatal("nobody takes up what was left")
			}
			a.says("answer to " + a.input.Thread)
			a.exit(nil)
		}
		w.hears("t1", "answer to t1")
		w.hears("t2", "answer to t2")
	})
}

func TestARequestFindsItsThreadByItsStampOrItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, threaded(50), group("family"), group("work"))
		finds := func(m *turns.Manager, turn string, at time.Time, want string, wantKnown bool) {
			t.Helper()
			if thread, known := m.ThreadOf("family", turn, at); thread != want || known != wantKnown {
				t.Errorf("found %q, %v; want %q, %v", thread, known, want, wantKnown)
			}
		}
		finds(w.m, "", time.Now(), "", true)
		w.run()
		w.writeIn("family", "t1", "1", "hello")
		w.writeIn("work", "w1", "1", "hello")
		a, b := w.runtime.next(), w.runtime.next()
		if a.input.GroupFolder != "family" {
			a, b = b, a
		}
		first := time.Now()
		finds(w.m, "", first, "t1", true)
		finds(w.m, b.input.Turn, first, "t1", false) // another group's: as without a stamp
		w.writeIn("family", "t2", "2", "hello")
		time.Sleep(time.Second)
		a.finishes(t, "hi")
		between := time.Now()
		time.Sleep(time.Second)
		c := w.runtime.next()
		for range 2 {
			finds(w.m, a.input.Turn, time.Now(), "t1", true)
			finds(w.m, c.input.Turn, first, "t2", true)
			finds(w.m, "", first, "t1", true) // v1's assistant, whose request waited
			finds(w.m, "", between.Add(time.Millisecond), "t2", true)
			finds(w.m, "", first.Add(-time.Hour), "", true)
			finds(w.m, "made up", first.Add(-time.Hour), "", false)
			w = w.restart()
		}
	})
}

// A reload that made the chat one conversation sent what a turn under way had made to
// the chat, and its words to the thread.
func TestATurnEndsInItsThreadThoughTheChatBecomesOneConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, threaded(50))
		w.run()
		w.writeIn("family", "t1", "1", "hello")
		a := w.runtime.next()
		flat := group("family")
		flat.Threads = groups.Flat
		w.configure(flat)
		for _, turn := range []string{a.input.Turn, "", "made up"} {
			want := map[string]string{a.input.Turn: "t1"}[turn]
			if thread, known := w.m.ThreadOf("family", turn, time.Now()); thread != want || !known {
				t.Errorf("a request with the stamp %q goes to %q, %v", turn, thread, known)
			}
		}
		a.says("hi")
		a.exit(nil)
		w.hears("t1", "hi")
	})
}

func TestAHostThatDiesAnswersEachThreadInItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, threaded(50))
		w.run()
		w.writeIn("family", "t1", "1", "first")
		a := w.runtime.next()
		w.writeIn("family", "t2", "2", "second")
		w.writeIn("family", "t1", "3", "a follow-up")
		synctest.Wait()
		time.Sleep(time.Second)

		next := w.restart()
		next.run()
		c := next.runtime.next()
		has(t, c.input.Prompt, "first", "a follow-up")
		c.finishes(t, "one")
		has(t, next.runtime.next().input.Prompt, "second")
		next.hears("t1", "one")
		w.toolSends()
		sent := w.restart()
		sent.run()
		b := sent.runtime.next()
		has(t, b.input.Prompt, "second") // as the follow-up was written later
		b.finishes(t, "two")
		has(t, sent.runtime.next().input.Prompt, "a follow-up")
		sent.hears("t1", interrupted)
		sent.hears("t2", "two")
		if a.input.Turn == c.input.Turn {
			t.Error("two turns have one id")
		}
	})
}

func TestALateFailureIsReadInTheThreadThatAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, threaded(50))
		w.run()
		w.writeIn("family", "t1", "1", "hello")
		w.runtime.next().says("hi")
		w.writeIn("family", "t2", "2", "hello")
		synctest.Wait()
		check(t, w.m.Notify("family", "t2", "b.pdf was not delivered"))
		check(t, w.m.Notify("family", "t1", "a.pdf was not delivered"))
		w = w.restart()
		w.run()
		b := w.runtime.next()
		has(t, b.input.Prompt, "b.pdf")
		if strings.Contains(b.input.Prompt, "a.pdf") {
			t.Errorf("the other thread's failure: %s", b.input.Prompt)
		}
		b.says("sorry")
		w.writeIn("family", "t1", "3", "where is it?")
		synctest.Wait()
		b.exit(nil)
		has(t, w.runtime.next().input.Prompt, "a.pdf")
	})
}

func TestTheThreadUsedLeastRecentlyIsForgottenAndTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const threads = 60
		w := newWorld(t, threaded(50))
		w.run()
		for i := range threads {
			w.writeIn("family", fmt.Sprint("t", i), fmt.Sprint(i), fmt.Sprintf("question %d.", i))
		}
		for i := range threads {
			a := w.runtime.next()
			if a == nil {
				t.Fatalf("nobody answers thread %d", i)
			}
			has(t, a.input.Prompt, fmt.Sprintf("question %d.", i))
			a.says(fmt.Sprint("answer ", i))
			a.exit(nil)
		}
		for i := range threads {
			if heard := w.heard(fmt.Sprint("t", i)); len(heard) == 0 || heard[len(heard)-1] != fmt.Sprint("answer ", i) {
				t.Errorf("thread %d has seen %q", i, heard)
			}
		}
		if n := w.kept("family"); n != 0 {
			t.Errorf("%d messages are left", n)
		}
		w = w.restart()
		w.run()
		for thread, session := range map[string]string{"t0": "", "t59": "session-1"} {
			before := len(w.heard(thread))
			w.writeIn("family", thread, "again in "+thread, "again")
			a := w.runtime.next()
			if a.input.SessionID != session {
				t.Errorf("thread %s goes on with session %q", thread, a.input.SessionID)
			}
			a.says("yes")
			a.exit(nil)
			want := []string{startsAnew, "yes"}
			if session != "" {
				want = want[1:]
			}
			if diff := cmp.Diff(want, w.heard(thread)[before:]); diff != "" {
				t.Errorf("thread %s (-want +got):\n%s", thread, diff)
			}
		}
		// Threads in which nobody calls the assistant are bounded too.
		w.configure(func() groups.Group { g := group("family"); g.Trigger = "@Andy"; return g }())
		for i := range 200 {
			w.writeIn("family", fmt.Sprint("quiet ", i), fmt.Sprint("q", i), "just talk")
		}
		if n := w.kept("family"); n > 51 {
			t.Errorf("%d messages of quiet threads are kept", n)
		}
	})
}

func TestAFlatChatIsOneConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, threaded(0))
		w.run()
		w.writeIn("family", "t1", "1", "the cats")
		a := w.runtime.next()
		w.writeIn("family", "t2", "2", "the dogs")
		synctest.Wait()
		has(t, strings.Join(a.reads(), ""), "the dogs")
		a.says("both")
		w.hears("", "both")
		if a.input.Turn+a.input.Thread != "" {
			t.Errorf("it is told of threads: %+v", a.input)
		}
		if n := w.count(`SELECT COUNT(*) FROM turn_run`) + w.count(`SELECT COUNT(*) FROM turn_thread WHERE thread <> ''`); n > 0 {
			t.Errorf("%d threads or runs are kept", n)
		}
	})
}

// TestThreadsInParallelEachHaveTheirPlace answers two threads at once, each by an
// assistant with directories of its own, and lets a third one wait.
func TestThreadsInParallelEachHaveTheirPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := group("family")
		g.Parallel = 2
		w := newWorld(t, threaded(50), g)
		w.run()
		var all []*actor
		for _, thread := range []string{"t1", "t2", "t3"} {
			w.writeIn("family", thread, thread, "question in "+thread)
			if a := w.runtime.next(); a != nil {
				all = append(all, a)
			}
		}
		if len(all) != 2 || all[0].spec.Place == all[1].spec.Place || all[0].inputs() == all[1].inputs() {
			t.Fatalf("%d run at once: %+v", len(all), all)
		}
		for _, a := range all {
			w.writeIn("family", a.input.Thread, "more in "+a.input.Thread, "and more in "+a.input.Thread)
		}
		synctest.Wait()
		now := time.Now()
		if thread, known := w.m.ThreadOf("family", "", now); thread != "" || !known {
			t.Errorf("while two run, a request without a stamp goes to %q", thread)
		}
		for _, a := range all {
			has(t, strings.Join(a.reads(), ""), "and more in "+a.input.Thread)
			if thread, _ := w.m.ThreadOf("family", a.input.Turn, now); thread != a.input.Thread {
				t.Errorf("a request of %s goes to %q", a.input.Thread, thread)
			}
		}
		next := w.restart() // a killed host's turns go on in their threads
		next.run()
		for range 2 {
			a := next.runtime.next()
			has(t, a.input.Prompt, "question in "+a.input.Thread, "and more in "+a.input.Thread)
		}
		all[1].finishes(t, "answer in t2")
		c := w.runtime.next()
		if c == nil || c.spec.Place != all[1].spec.Place {
			t.Fatal("the third one does not get the place that is free")
		}
		c.says("answer in t3")
		all[0].says("answer in t1")
		for _, thread := range []string{"t1", "t2", "t3"} {
			w.hears(thread, "answer in "+thread)
		}
	})
}

// A flood of calls in one thread takes the oldest call of the chat away, which waits in
// another thread. That one's assistant was started with nothing to read.
func TestAThreadWhoseCallMadeRoomStartsNoAssistant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, threaded(50))
		w.run()
		w.writeIn("family", "t1", "1", "long work")
		a := w.runtime.next()
		w.writeIn("family", "t2", "2", "a question")
		synctest.Wait()
		for i := range 1000 { // as many calls as wait
			w.writeIn("family", "t3", fmt.Sprintf("flood %d", i), "more")
		}
		synctest.Wait()
		a.finishes(t, "done")
		b := w.runtime.next()
		if b == nil || b.input.Thread != "t3" {
			t.Fatalf("after the first one, there runs %+v", b)
		}
		b.says("enough")
		b.exit(nil)
		if c := w.runtime.next(); c != nil {
			t.Errorf("an assistant was started in %s with %q", c.input.Thread, c.input.Prompt)
		}
	})
}

// TestALateFileIsToldInItsThread has a file of one thread come while another is at
// work.
func TestALateFileIsToldInItsThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		come := make(chan struct{})
		w := newWorld(t, func(o *options) {
			threaded(50)(o)
			o.Fetch = func(ctx context.Context, _ string, _ channel.FileRef) (io.ReadCloser, error) {
				select {
				case <-come:
					return io.NopCloser(strings.NewReader("late")), nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
		})
		w.run()
		check(t, w.m.Receive(t.Context(), "family", channel.Inbound{
			ID: "1", Chat: "web:family", Thread: "t1", Text: "look at this", Time: time.Now(),
			Files: []channel.Attachment{w.lay("late.txt", "late")},
		}))
		time.Sleep(time.Minute)
		w.runtime.next().finishesAlone("so far so good")
		w.writeIn("family", "t2", "2", "a question")
		b := w.runtime.next()
		close(come)
		synctest.Wait()
		if got := b.reads(); len(got) > 0 {
			t.Errorf("the other thread reads %q", got)
		}
		b.finishesAlone("an answer")
		w.writeIn("family", "t1", "3", "and now?")
		has(t, w.runtime.next().input.Prompt, "late.txt&quot; of message 1")
	})
}

// finishesAlone answers and ends by itself.
func (a *actor) finishesAlone(text string) {
	a.says(text)
	a.exit(nil)
}

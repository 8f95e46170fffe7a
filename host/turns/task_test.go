package turns_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/runtime"
)

const (
	runOne = "0123456789abcdef0123456789abcdef"
	runTwo = "1123456789abcdef0123456789abcdef"
)

// schedules is a world that notes which runs of tasks have ended.
func schedules(t *testing.T, ended *[]string) *world {
	return newWorld(t, func(o *options) {
		o.Tasks = endedTasks{ended}
		o.Limits.Threads = 10
	})
}

func (w *world) task(thread, run string, isolated, wantOpen bool) {
	w.t.Helper()
	open, err := w.m.Task("family", thread, run, "[SCHEDULED TASK] water <the> plants", isolated)
	if err != nil || open != wantOpen {
		w.t.Errorf("task: open %v, %v; want %v", open, err, wantOpen)
	}
}

func TestATaskIsATurnOfItsThreadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended []string
		w := schedules(t, &ended)
		w.run()
		w.task("7", runOne, false, true)
		a := w.runtime.next()
		has(t, a.input.Prompt, "<task time=", "[SCHEDULED TASK] water &lt;the&gt; plants</task>")
		w.task("7", runOne, false, true)
		if len(ended) > 0 {
			t.Errorf("ended before its answer: %v", ended)
		}
		a.says("done")
		if diff := cmp.Diff([]string{runOne}, ended); diff != "" || w.said[0].Thread != "7" {
			t.Errorf("%s, said %+v", diff, w.said)
		}
		w.task("7", runOne, false, false)
		if again := w.runtime.next(); again != nil || len(a.reads()) > 0 {
			t.Error("the run was begun twice")
		}
	})
}

// A host that dies while the assistant works on a task runs it again if nothing of it
// has been sent, under the same id.
func TestATaskOfAHostThatDiedRunsOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended []string
		w := schedules(t, &ended)
		end := w.run()
		w.task("", runOne, true, true)
		w.runtime.next()
		next := w.restart()
		end()
		ended = nil
		next.run()
		next.task("", runOne, true, true)
		b := next.runtime.next()
		b.says("watered")
		if diff := cmp.Diff([]string{runOne}, ended); diff != "" {
			t.Error(diff)
		}
		if c := next.runtime.next(); c != nil {
			t.Error("the run was begun twice")
		}
	})
}

func TestAnIsolatedTaskIsNotTheConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended []string
		w := schedules(t, &ended)
		w.run()
		w.write("family", "1", "hello")
		a := w.runtime.next()
		w.task("", runOne, true, true)
		synctest.Wait()
		if got := a.reads(); len(got) > 0 {
			t.Errorf("the conversation was given the task: %q", got)
		}
		a.says("hi")
		a.exit(nil) // it was asked to
		b := w.runtime.next()
		if b == nil || b.input.SessionID != "" || strings.Contains(b.input.Prompt, "hello") {
			t.Fatalf("the task runs in %+v", b)
		}
		w.write("family", "2", "are you there?")
		w.task("", runTwo, false, true)
		synctest.Wait()
		if got := b.reads(); len(got) > 0 {
			t.Errorf("the task was given the conversation: %q", got)
		}
		b.outputs <- outputOf("watered", "session-of-the-task")
		synctest.Wait()
		b.exit(nil)
		c := w.runtime.next()
		if c == nil || c.input.SessionID != "session-1" {
			t.Fatalf("the conversation goes on in %+v", c)
		}
		has(t, c.input.Prompt, "are you there?", "[SCHEDULED TASK]")
		if diff := cmp.Diff([]string{"hi", "watered"}, w.texts()); diff != "" {
			t.Error(diff)
		}
	})
}

// What members wrote that did not call the assistant stays for its conversation.
func TestAnIsolatedTaskLeavesTheContextToTheConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended []string
		w := schedules(t, &ended)
		g := group("family")
		g.Trigger = "@Andy"
		w.configure(g)
		w.run()
		w.write("family", "1", "just between us")
		w.task("", runOne, true, true)
		a := w.runtime.next()
		if a == nil || strings.Contains(a.input.Prompt, "between us") {
			t.Fatalf("%+v", a)
		}
		a.says("watered")
		a.exit(nil)
		w.write("family", "2", "@Andy hello")
		has(t, w.runtime.next().input.Prompt, "just between us", "@Andy hello")
	})
}

func outputOf(text, session string) runtime.Output {
	return runtime.Output{Status: runtime.Success, Result: &text, NewSessionID: session}
}

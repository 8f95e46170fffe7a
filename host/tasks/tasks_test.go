package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/ipc"
)

// world is the tasks of an installation, whose assistants the test plays.
type world struct {
	t        *testing.T
	dir      string
	registry *groups.Registry
	spent    map[string]bool // whose budget has ended
	zone     *time.Location
	state    *state.DB // nil: closed
	*tasks.Tasks

	mu      sync.Mutex
	skew    time.Duration // of the wall clock
	runs    []begunRun
	over    map[string]bool
	refuses error
	calls   int
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: t.TempDir(), zone: zone(t, "Europe/Berlin"), over: map[string]bool{}}
	w.open()
	t.Cleanup(w.close)
	return w
}

func (w *world) open() {
	w.t.Helper()
	registry, err := groups.NewRegistry([]groups.Group{
		{Name: "Home", Folder: "home", Chat: "web:home", Main: true, Assistant: "sample", Actions: groups.Actions{"all"}},
		{Name: "Work", Folder: "work", Chat: "web:work", Assistant: "sample", Actions: groups.Actions{"all"}},
		{Name: "Quiet", Folder: "quiet", Chat: "web:quiet", Assistant: "sample", Actions: groups.Actions{"react"}},
		{Name: "Nobody", Folder: "nobody", Chat: "web:nobody", Actions: groups.Actions{"all"}},
	})
	must(w.t, err)
	w.registry = registry
	w.state, err = state.Open(w.t.Context(), statetest.Spec(w.dir), slog.New(slog.DiscardHandler))
	must(w.t, err)
	w.Tasks = tasks.New(tasks.Options{State: w.state, Host: host{w}, Now: w.now})
}

// close ends the host, or does nothing if it has ended.
func (w *world) close() {
	if w.state != nil {
		must(w.t, w.state.Close())
	}
	w.state = nil
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.skew)
}

// begunRun is a run that an assistant was given.
type begunRun struct {
	ID, Folder, Thread, Prompt string
	Isolated                   bool
}

// host is what the tasks ask.
type host struct{ w *world }

func (h host) Registry() *groups.Registry { return h.w.registry }
func (h host) Zone(string) *time.Location { return h.w.zone }

// Spent waits for a change, as somebody may who asks for budgets: a change of tasks that asks
// would stop all writes.
func (h host) Spent(folder string) bool {
	_, err := h.w.state.Exec(context.Background(), `DELETE FROM served_group WHERE folder = ''`)
	must(h.w.t, err)
	return h.w.spent[folder]
}

func (h host) TasksChanged(string) {}

// assistants are the test, which takes the runs.
type assistants struct{ *world }

func (w assistants) Task(folder, thread, run, prompt string, isolated bool) (bool, error) {
	r := begunRun{run, folder, thread, prompt, isolated}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuses != nil {
		return false, w.refuses
	}
	if !slices.ContainsFunc(w.runs, func(had begunRun) bool { return had.ID == r.ID }) {
		w.runs = append(w.runs, r)
	}
	return !w.over[r.ID], nil
}

// begun is the runs since the test looked last.
func (w *world) begun() []begunRun {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.runs)
}

// end ends the newest run.
func (w *world) end() {
	w.mu.Lock()
	id := w.runs[len(w.runs)-1].ID
	w.over[id] = true
	w.mu.Unlock()
	w.Ended(id)
	synctest.Wait()
}

// serve runs the tasks until the test or the caller ends it.
func (w *world) serve() (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	ts := w.Tasks
	go func() { done <- ts.Run(ctx, assistants{w}) }()
	end = sync.OnceFunc(func() { cancel(); must(w.t, <-done) })
	w.t.Cleanup(end)
	synctest.Wait()
	return end
}

func (w *world) call(folder string, r ipc.Request) (tasks.Answer, error) {
	w.calls++
	return w.callAs(fmt.Sprint(w.calls), folder, r)
}

func (w *world) callAs(key, folder string, r ipc.Request) (a tasks.Answer, err error) {
	w.t.Helper()
	data, err := w.Answer(w.t.Context(), tasks.Call{Key: key, From: w.registry.Asker(folder, r.Conversation), Thread: threadOf(r), Request: r})
	if err != nil {
		return a, err
	}
	raw, err := json.Marshal(data)
	must(w.t, err)
	must(w.t, json.Unmarshal(raw, &a))
	if a.Words == "" || len(raw) > ipc.MaxData {
		w.t.Errorf("an answer of %d bytes with the words %q", len(raw), a.Words)
	}
	return a, nil
}

func threadOf(r ipc.Request) string {
	if r.Conversation != "" {
		return r.Conversation
	}
	return "7"
}

func (w *world) schedule(kind, value string) tasks.Task {
	w.t.Helper()
	a, err := w.call("work", scheduled(kind, value))
	must(w.t, err)
	return *a.Task
}

func scheduled(kind, value string) ipc.Request {
	return ipc.Request{Type: ipc.TypeScheduleTask, Prompt: "water the plants", ScheduleType: kind, ScheduleValue: value, Name: "plants"}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in %q", p, text)
		}
	}
}

// The bubble's clock starts on 1 January 2000, 01:00 in Berlin.
func TestATaskRunsWhenItIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve()
		a, err := w.call("work", scheduled("cron", "0 9 * * *"))
		must(t, err)
		has(t, a.Words, "Scheduled the task plants", "Sat 1 Jan 2000, 09:00 CET", "Sun 2 Jan", "Mon 3 Jan", "Europe/Berlin")
		time.Sleep(8*time.Hour - time.Second)
		if n := len(w.begun()); n > 0 {
			t.Errorf("%d runs before it is due", n)
		}
		time.Sleep(time.Second)
		runs := w.begun()
		if len(runs) != 1 || runs[0].Folder != "work" || runs[0].Thread != "7" || runs[0].Isolated {
			t.Fatalf("%+v", runs)
		}
		has(t, runs[0].Prompt, "[SCHEDULED TASK - ", a.Task.ID, "(plants)", "due on Sat 1 Jan 2000, 09:00 CET.\n\nwater the plants")
		w.end()
		time.Sleep(24 * time.Hour)
		if n := len(w.begun()); n != 2 {
			t.Errorf("%d runs after two days", n)
		}
	})
}

func TestAnIntervalCountsFromTheEndOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve()
		w.schedule("interval", "600000")
		time.Sleep(time.Hour)
		if n := len(w.begun()); n != 1 {
			t.Fatalf("%d runs beside one that has not ended", n)
		}
		w.end()
		time.Sleep(10*time.Minute - time.Second)
		if n := len(w.begun()); n != 1 {
			t.Errorf("%d runs", n)
		}
		time.Sleep(time.Second)
		if n := len(w.begun()); n != 2 {
			t.Errorf("%d runs ten minutes after the end", n)
		}
	})
}

func TestATaskForOnceRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve()
		w.schedule("once", "2000-01-01T15:30:00")
		time.Sleep(14*time.Hour + 30*time.Minute)
		w.begun()
		w.end()
		time.Sleep(1000 * time.Hour)
		if n := len(w.begun()); n != 1 {
			t.Errorf("%d runs", n)
		}
		all, err := w.List(t.Context(), "work")
		if must(t, err); len(all) != 1 || all[0].Status != tasks.Completed {
			t.Errorf("%+v", all)
		}
		_, err = w.call("work", ipc.Request{Type: ipc.TypePauseTask, TaskID: all[0].ID})
		if r := refusal.Of(err); r == nil || r.Code != "task_completed" || r.Hint == "" {
			t.Errorf("to pause it: %v", err)
		}
	})
}

func TestARunThatOverlapsIsSkippedAndSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve()
		w.schedule("cron", "0 * * * *")
		time.Sleep(3*time.Hour + time.Minute)
		if n := len(w.begun()); n != 1 {
			t.Fatalf("%d runs at a time", n)
		}
		a, err := w.call("work", ipc.Request{Type: ipc.TypeListTasks})
		must(t, err)
		has(t, a.Words, "1 task", "skipped at 2 due times")
		w.end()
		time.Sleep(time.Hour)
		has(t, w.begun()[1].Prompt, "2 due times were skipped")
	})
}

func TestWhatWasMissedRunsOnceAndSaysWhenItWasDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.schedule("cron", "0 9 * * *")
		w.close()
		time.Sleep(80 * time.Hour)
		w.open()
		w.serve()
		runs := w.begun()
		if len(runs) != 1 {
			t.Fatalf("%d runs for three missed ones", len(runs))
		}
		has(t, runs[0].Prompt, "due on Sat 1 Jan 2000, 09:00 CET", "72h0m0s late")
	})
}

// A host that dies after the claim begins the run at the next start, and one that dies
// after the run's end does not begin it again.
func TestARunIsBegunOnceWheneverTheHostDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.refuses = errors.New("killed")
		end := w.serve()
		w.schedule("cron", "0 9 * * *")
		time.Sleep(8*time.Hour + 30*time.Second)
		end()
		w.close()
		w.refuses = nil
		for range 3 {
			w.open()
			end := w.serve()
			runs := w.begun()
			if len(runs) != 1 {
				t.Fatalf("%d runs", len(runs))
			}
			end()
			w.close()
			w.over[runs[0].ID] = true // from the first restart on; nobody hears of it
		}
		w.open()
		all, err := w.List(t.Context(), "")
		if must(t, err); all[0].Running {
			t.Error("the run that has ended seems to be under way")
		}
	})
}

func TestAnAssistantThatCannotBeginIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve()
		w.schedule("once", "2000-01-01T02:00:00")
		w.mu.Lock()
		w.refuses = errors.New("disk full")
		w.mu.Unlock()
		time.Sleep(2 * time.Hour)
		w.mu.Lock()
		w.refuses = nil
		w.mu.Unlock()
		time.Sleep(time.Minute)
		if n := len(w.begun()); n != 1 {
			t.Errorf("%d runs", n)
		}
	})
}

func TestAClockThatJumps(t *testing.T) {
	for name, tt := range map[string]struct {
		jump time.Duration
		want int // runs within the next two hours by the new clock
	}{"ahead over a due time": {9 * time.Hour, 1}, "back by a year": {-366 * 24 * time.Hour, 0}, "back, then on to the due time": {-time.Hour, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.serve()
				w.schedule("cron", "0 9 * * *")
				w.mu.Lock()
				w.skew = tt.jump
				w.mu.Unlock()
				time.Sleep(2 * time.Hour)
				if n := len(w.begun()); n != tt.want {
					t.Errorf("%d runs", n)
				}
				if tt.want > 0 {
					w.end()
				}
				time.Sleep(48 * time.Hour)
				if n := len(w.begun()); n < 1 {
					t.Error("it waits for the old clock")
				}
			})
		})
	}
}

// A clock that is set back over a run does not have it again.
func TestADueTimeRunsOnceIfTheClockIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve()
		w.schedule("cron", "0 9 * * *")
		time.Sleep(8*time.Hour + 5*time.Minute)
		w.begun()
		w.end()
		w.mu.Lock()
		w.skew = -time.Hour
		w.mu.Unlock()
		time.Sleep(3 * time.Hour)
		if n := len(w.begun()); n != 1 {
			t.Errorf("%d runs", n)
		}
	})
}

// An interval that was due by a clock a day ahead waited for that day, also in a new host
// with the right clock.
func TestAnIntervalIsNotADayLongBecauseTheClockWasSetBack(t *testing.T) {
	for name, restarts := range map[string]bool{"while the host runs": false, "while no host runs": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.skew = 24 * time.Hour
				end := w.serve()
				w.schedule("interval", "3600000")
				if restarts {
					end()
					w.close()
				}
				w.mu.Lock()
				w.skew = 0
				w.mu.Unlock()
				if restarts {
					w.open()
					w.serve()
				}
				time.Sleep(time.Hour + 2*time.Minute)
				if n := len(w.begun()); n != 1 {
					t.Errorf("%d runs within the hour", n)
				}
			})
		})
	}
}

func TestAnotherZoneMovesTheTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.schedule("cron", "0 9 * * *")
		w.close()
		w.zone = zone(t, "America/New_York")
		w.open()
		w.serve()
		time.Sleep(13*time.Hour + 59*time.Minute)
		if n := len(w.begun()); n > 0 {
			t.Errorf("%d runs at 9:00 of the old zone", n)
		}
		time.Sleep(time.Minute)
		if n := len(w.begun()); n != 1 {
			t.Errorf("%d runs at 9:00", n)
		}
	})
}

// TestAnotherZoneMovesTheTimesLive is a reload that changes one group's zone.
func TestAnotherZoneMovesTheTimesLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve()
		w.schedule("cron", "0 9 * * *")
		w.zone = zone(t, "America/New_York")
		w.Reload(t.Context())
		time.Sleep(13*time.Hour + 59*time.Minute)
		if n := len(w.begun()); n > 0 {
			t.Errorf("%d runs at 9:00 of the old zone", n)
		}
		time.Sleep(time.Minute)
		if n := len(w.begun()); n != 1 {
			t.Errorf("%d runs at 9:00", n)
		}
	})
}

func TestAResumedTaskDoesNotMakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve()
		task := w.schedule("cron", "0 9 * * *")
		_, err := w.call("work", ipc.Request{Type: ipc.TypePauseTask, TaskID: task.ID})
		must(t, err)
		time.Sleep(33 * time.Hour)
		a, err := w.call("work", ipc.Request{Type: ipc.TypeResumeTask, TaskID: task.ID})
		must(t, err)
		has(t, a.Words, "Resumed", "Mon 3 Jan 2000, 09:00 CET")
		time.Sleep(time.Hour)
		if n := len(w.begun()); n != 0 {
			t.Errorf("%d runs at once", n)
		}
	})
}

// A host that is killed between the answer and the unlink meets the request again.
func TestACallIsDoneOnceForItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		first, err := w.callAs("k", "work", scheduled("cron", "0 9 * * *"))
		must(t, err)
		w.close()
		w.open()
		second, err := w.callAs("k", "work", scheduled("cron", "0 9 * * *"))
		must(t, err)
		if diff := cmp.Diff(first.Words, second.Words); diff != "" || first.Task.ID != second.Task.ID {
			t.Error(diff)
		}
		for range 2 {
			_, err := w.callAs("c", "work", ipc.Request{Type: ipc.TypeCancelTask, TaskID: first.Task.ID})
			must(t, err)
		}
		if all, err := w.List(t.Context(), ""); err != nil || len(all) > 0 {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

func TestWhatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		mine := w.schedule("cron", "0 9 * * *")
		a, err := w.call("home", scheduled("cron", "0 9 * * *"))
		must(t, err)
		theirs := a.Task.ID
		with := func(change func(*ipc.Request)) ipc.Request {
			r := scheduled("cron", "0 9 * * *")
			change(&r)
			return r
		}
		for name, tt := range map[string]struct {
			folder string
			r      ipc.Request
			want   string
		}{
			"another group's task":      {"work", ipc.Request{Type: ipc.TypeCancelTask, TaskID: theirs}, "unknown_task"},
			"a group that is gone":      {"nowhere", scheduled("cron", "0 9 * * *"), "unknown_group"},
			"an id of two words":        {"work", with(func(r *ipc.Request) { r.TaskID = "two words" }), "wrong_task_id"},
			"an id that is taken":       {"work", with(func(r *ipc.Request) { r.TaskID = mine.ID }), "wrong_task_id"},
			"no task":                   {"work", ipc.Request{Type: ipc.TypePauseTask, TaskID: "task-0"}, "unknown_task"},
			"another group's chat":      {"work", with(func(r *ipc.Request) { r.TargetJID = "web:home" }), ""},
			"an unknown chat":           {"home", with(func(r *ipc.Request) { r.TargetJID = "web:none" }), ""},
			"a chat without assistant":  {"home", with(func(r *ipc.Request) { r.TargetJID = "web:nobody" }), "no_assistant"},
			"a group without the right": {"quiet", scheduled("cron", "0 9 * * *"), "not_allowed"},
			"a bad schedule":            {"work", scheduled("cron", "never"), "invalid_schedule"},
			"a time that is over":       {"work", scheduled("once", "1999-12-31T23:00:00"), "invalid_schedule"},
			"a bad new schedule":        {"work", ipc.Request{Type: ipc.TypeUpdateTask, TaskID: mine.ID, ScheduleValue: "x"}, "invalid_schedule"},
			"a long prompt":             {"work", with(func(r *ipc.Request) { r.Prompt = strings.Repeat("x", tasks.MaxPrompt+1) }), "prompt_too_long"},
			"a long name":               {"work", with(func(r *ipc.Request) { r.Name = strings.Repeat("x", 101) }), "wrong_name"},
		} {
			_, err := w.call(tt.folder, tt.r)
			if r := refusal.Of(err); r == nil || r.Hint == "" || tt.want != "" && r.Code != tt.want {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
		}
		_, err = w.call("home", ipc.Request{Type: ipc.TypePauseTask, TaskID: mine.ID})
		must(t, err)
	})
}

func TestMainSchedulesForAnotherChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := scheduled("cron", "0 9 * * *")
		r.TargetJID, r.ContextMode = "web:work", "isolated"
		_, err := w.call("home", r)
		must(t, err)
		w.serve()
		time.Sleep(8 * time.Hour)
		if runs := w.begun(); len(runs) != 1 || runs[0].Folder != "work" || runs[0].Thread != "" || !runs[0].Isolated {
			t.Errorf("%+v", runs)
		}
	})
}

func TestAFloodOfTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var refused int
		for range 300 {
			r := scheduled("cron", "* * * * *")
			r.Prompt = strings.Repeat("<&>", 2000)
			if _, err := w.call("work", r); err != nil {
				if r := refusal.Of(err); r == nil || r.Code != "too_many_tasks" {
					t.Fatal(err)
				}
				refused++
			}
		}
		a, err := w.call("work", ipc.Request{Type: ipc.TypeListTasks})
		must(t, err)
		if refused != 300-tasks.MaxTasks || len(a.Tasks) == 0 {
			t.Errorf("%d refused, %d listed", refused, len(a.Tasks))
		}
		_, err = w.call("home", scheduled("cron", "0 9 * * *"))
		must(t, err)
	})
}

func TestTheOperatorRunsATaskNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve()
		task := w.schedule("cron", "0 9 * * *")
		for verb, want := range map[string]int{"run": 1} {
			_, err := w.Operate(t.Context(), task.ID, verb)
			must(t, err)
			if n := len(w.begun()); n != want {
				t.Errorf("%d runs", n)
			}
		}
		if _, err := w.Operate(t.Context(), task.ID, "run"); refusal.Of(err) == nil {
			t.Errorf("a second run beside the first: %v", err)
		}
		w.end()
		time.Sleep(8 * time.Hour)
		if n := len(w.begun()); n != 2 {
			t.Errorf("%d runs; its own time is as it was", n)
		}
		for _, verb := range []string{"pause", "resume", "cancel"} {
			a, err := w.Operate(t.Context(), task.ID, verb)
			must(t, err)
			has(t, a.Words, "the task plants")
		}
		if _, err := w.Operate(t.Context(), task.ID, "cancel"); refusal.Of(err) == nil {
			t.Error(err)
		}
	})
}

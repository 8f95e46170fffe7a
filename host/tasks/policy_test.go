package tasks_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/ipc"
)

// change changes a group as a reload does.
func (w *world) change(folder string, change func(*groups.Group)) {
	w.t.Helper()
	all := w.registry.All()
	for i := range all {
		if all[i].Folder == folder {
			change(&all[i])
		}
	}
	registry, err := groups.NewRegistry(all)
	must(w.t, err)
	w.registry = registry
}

// inWork has main schedule a task in the chat of the group work.
func (w *world) inWork() (tasks.Answer, error) {
	r := scheduled("cron", "0 9 * * *")
	r.TargetJID = "web:work"
	return w.call("home", r)
}

// A rule that came later, or a right that ended, did not reach the tasks that were there.
func TestATaskInAnotherChatEndsWithItsOwnersRight(t *testing.T) {
	for name, change := range map[string]func(*groups.Group){
		"approve.foreign": func(g *groups.Group) { g.Approve.Foreign = true },
		"no longer main":  func(g *groups.Group) { g.Main = false },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				_, err := w.inWork()
				must(t, err)
				w.change("home", change)
				defer w.serve()()
				time.Sleep(48 * time.Hour)
				if runs := w.begun(); len(runs) > 0 {
					t.Errorf("it ran: %+v", runs)
				}
				all, err := w.List(t.Context(), "work")
				if err != nil || len(all) != 1 || all[0].Status != tasks.Paused {
					t.Errorf("%+v, %v", all, err)
				}
				if _, err := w.inWork(); refusal.Of(err) == nil {
					t.Errorf("another one: %v", err)
				}
				for _, typ := range []ipc.Type{ipc.TypeUpdateTask, ipc.TypeResumeTask} {
					if _, err := w.call("home", ipc.Request{Type: typ, TaskID: all[0].ID, Prompt: "words"}); refusal.Of(err) == nil {
						t.Errorf("%s: %v", typ, err)
					}
				}
				if _, err := w.call("home", ipc.Request{Type: ipc.TypeCancelTask, TaskID: all[0].ID}); err != nil && refusal.Of(err).Code != "unknown_task" {
					t.Errorf("what takes away is free: %v", err)
				}
			})
		})
	}
}

// Main's tasks in the chats of others spent budgets that were not its own, without end.
func TestATaskInAnotherChatWaitsForItsOwnersBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, err := w.inWork()
		must(t, err)
		w.spent = map[string]bool{"home": true}
		end := w.serve()
		time.Sleep(24 * time.Hour)
		if runs := w.begun(); len(runs) > 0 {
			t.Errorf("it ran without a budget: %+v", runs)
		}
		end()
		w.spent = nil
		defer w.serve()()
		time.Sleep(time.Hour)
		if runs := w.begun(); len(runs) != 1 || runs[0].Folder != "work" {
			t.Errorf("with a budget: %+v", runs)
		}
	})
}

// The refusal of an id said that another group, or another thread, has a task with it.
func TestAChosenIDDoesNotTellWhichIDsOthersHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		choose := func(folder, conversation string) ipc.Request {
			r := scheduled("cron", "0 9 * * *")
			r.TaskID, r.Conversation, r.Prompt = "morning", conversation, folder+conversation
			return r
		}
		for _, who := range [][2]string{{"work", "t1"}, {"work", "t2"}, {"quiet2", ""}} {
			if who[0] == "quiet2" {
				w.change("quiet", func(g *groups.Group) { g.Actions = nil })
				who[0] = "quiet"
			}
			a, err := w.call(who[0], choose(who[0], who[1]))
			if err != nil || a.Task.ID != "morning" || strings.Contains(a.Words, "~") {
				t.Errorf("%v: %+v, %v", who, a, err)
			}
			if _, err := w.call(who[0], choose(who[0], who[1])); refusal.Of(err) == nil || refusal.Of(err).Code != "wrong_task_id" {
				t.Errorf("%v, twice: %v", who, err)
			}
		}
		_, err := w.call("work", ipc.Request{Type: ipc.TypeUpdateTask, TaskID: "morning", Conversation: "t2", Prompt: "changed"})
		must(t, err)
		all, err := w.List(t.Context(), "")
		must(t, err)
		for _, task := range all {
			if (task.Prompt == "changed") != (task.Thread == "t2") {
				t.Errorf("%+v", task)
			}
		}
		if len(all) != 3 {
			t.Errorf("%d tasks", len(all))
		}
	})
}

package serve

import (
	"context"

	"github.com/longshore-bridge/longshore/host/tasks"
)

// openTasks makes the list of scheduled tasks.
func (h *Host) openTasks(ctx context.Context) (_ Part, err error) {
	h.tasks = tasks.New(tasks.Options{State: h.State, Host: h.plans, Log: h.opts.Log})
	h.lists.tasks.Store(h.tasks)
	return tasksPart{Tasks: h.tasks, h: h}, h.takeOverTasks(ctx)
}

// Spent implements tasks.Host.
func (p plans) Spent(folder string) bool { return p.spent(folder) }

// TasksChanged implements tasks.Host.
func (p plans) TasksChanged(folder string) { p.tasksChanged(folder) }

// taskRuns begins the runs of tasks, and says so to the trace.
type taskRuns struct{ *Host }

// Task implements tasks.Assistants.
func (r taskRuns) Task(folder, thread, run, prompt string, isolated bool) (open bool, err error) {
	r.opts.Trace(folder, run, "task claimed")
	defer r.opts.Trace(folder, run, "task begun")
	return r.assistants.Task(folder, thread, run, prompt, isolated)
}

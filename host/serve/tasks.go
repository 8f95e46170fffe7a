package serve

import (
	"context"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/host/tasks"
)

// TasksOf returns the store of an installation's scheduled tasks.
func TasksOf(c *config.Config) store.Spec {
	return tasks.Store(c.Layout().Channel("tasks"), HomeOf(c))
}

// openTasks opens the store of scheduled tasks, and takes over NanoClaw's.
func (h *Host) openTasks(ctx context.Context) (_ Part, err error) {
	h.tasks, err = tasks.Open(ctx, tasks.Options{
		Dir: h.Layout.Channel("tasks"), Home: HomeOf(h.Config()), Host: h.plans, Log: h.opts.Log,
	})
	if err != nil {
		return nil, err
	}
	h.lists.tasks.Store(h.tasks)
	return tasksPart{h.tasks, h}, h.takeOverTasks(ctx)
}

func (p plans) Spent(folder string) bool   { return p.spent(folder) }
func (p plans) TasksChanged(folder string) { p.tellSnapshots(folder) }

// taskRuns implements tasks.Assistants: it begins the runs of tasks, and traces them.
type taskRuns struct{ *Host }

func (r taskRuns) Task(folder, thread, run, prompt string, isolated bool) (open bool, err error) {
	r.opts.Trace(folder, run, "task claimed")
	defer r.opts.Trace(folder, run, "task begun")
	return r.assistants.Task(folder, thread, run, prompt, isolated)
}

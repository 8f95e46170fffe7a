package serve

import (
	"context"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/host/tasks"
)

// TasksOf is the store of an installation's scheduled tasks.
func TasksOf(c *config.Config) store.Spec {
	return tasks.Store(c.Layout().Channel("tasks"), HomeOf(c))
}

// openTasks opens the store of scheduled tasks.
func (h *Host) openTasks(ctx context.Context) (_ Part, err error) {
	h.tasks, err = tasks.Open(ctx, tasks.Options{
		Dir: h.Layout.Channel("tasks"), Home: HomeOf(h.Config()), Groups: h.Registry, Zone: h.Zone, Log: h.opts.Log,
		Changed: h.tasksChanged, Spent: h.spent,
		Start: func(_ context.Context, r tasks.Run) (bool, error) {
			h.opts.Trace(r.Folder, r.ID, "task claimed")
			open, err := h.assistants.Task(r.Folder, r.Thread, r.ID, r.Prompt, r.Isolated)
			h.opts.Trace(r.Folder, r.ID, "task begun")
			return open, err
		},
	})
	if err != nil {
		return nil, err
	}
	h.lists.tasks.Store(h.tasks)
	return tasksPart{h.tasks}, h.takeOverTasks(ctx)
}

// taskEnded notes the end of a task's run.
func (h *Host) taskEnded(run string) {
	if h.tasks != nil {
		h.tasks.Ended(run)
	}
}

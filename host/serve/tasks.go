package serve

import (
	"context"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/ipc"
)

// TasksOf is the store of an installation's scheduled tasks.
func TasksOf(c *config.Config) store.Spec {
	return tasks.Store(c.Layout().Channel("tasks"), HomeOf(c))
}

// openTasks opens the store of scheduled tasks.
func (h *Host) openTasks(ctx context.Context) (err error) {
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
		return err
	}
	h.book.tasks.Store(h.tasks)
	return h.takeOverTasks(ctx)
}

// taskEnded notes the end of a task's run.
func (h *Host) taskEnded(run string) {
	if h.tasks != nil {
		h.tasks.Ended(run)
	}
}

// answers answers assistants' calls.
type answers struct{ h *Host }

// Answer implements bridge.Answerer.
func (a answers) Answer(ctx context.Context, c bridge.Call) (any, error) {
	switch c.Request.Type {
	case ipc.TypeScheduleTask, ipc.TypeListTasks, ipc.TypeUpdateTask, ipc.TypePauseTask, ipc.TypeResumeTask, ipc.TypeCancelTask:
		return a.h.tasks.Answer(ctx, tasks.Call(c))
	case ipc.TypeListMessages, ipc.TypeFetchFile:
		return a.h.history(ctx, c)
	case ipc.TypeRegisterGroup:
		return a.h.register(ctx, c)
	case ipc.TypeRefreshGroups:
		a.h.tasksChanged(c.From.Folder())
		return map[string]string{"words": "The snapshots are written."}, nil
	}
	return nil, &ipc.Refusal{Code: "not_supported", Message: "this host does not answer requests of this type", Hint: "do without it; chat_info says what this chat can do"}
}

// callsOf are the actions of a group that the host answers itself.
func (h *Host) callsOf(g groups.Group) (all []string) {
	if g.Actions.Has(groups.ActSchedule) && g.Assistant != "" {
		all = append(all, string(groups.ActSchedule))
	}
	if h.remembers(g) {
		all = append(all, string(groups.ActHistory))
	}
	if h.registers(g) {
		all = append(all, string(groups.ActRegister))
	}
	return all
}

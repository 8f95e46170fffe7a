package serve

import (
	"context"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/ipc"
)

// answers answers the calls of assistants that the host answers itself.
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
		a.h.tellSnapshots(c.From.Folder())
		return map[string]string{"words": "The snapshots are written."}, nil
	}
	return nil, &ipc.Refusal{Code: "not_supported", Message: "this host does not answer requests of this type", Hint: "do without it; chat_info says what this chat can do"}
}

// callsOf returns the actions that a group may ask answers for.
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

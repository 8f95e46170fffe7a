package operator

import (
	"context"

	"github.com/longshore-bridge/longshore/host/tasks"
)

// Tasks returns the scheduled tasks of a group, or of all.
func (d *Desk) Tasks(ctx context.Context, group string) ([]tasks.Task, error) {
	if d.Schedule == nil {
		return nil, ErrNoHost
	}
	all, err := d.Schedule.List(ctx, group)
	if all == nil {
		all = []tasks.Task{}
	}
	return all, err
}

// OperateTask does something with a task.
func (d *Desk) OperateTask(ctx context.Context, id, verb string) (tasks.Answer, error) {
	if d.Schedule == nil {
		return tasks.Answer{}, ErrNoHost
	}
	return d.Schedule.Operate(ctx, id, verb)
}

package tools

import (
	"context"
	_ "embed"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/ipc"
)

//go:embed update_task.md
var updateTaskText string

// UpdateTaskArgs are the parameters of update_task.
type UpdateTaskArgs struct {
	TaskID string `json:"task_id"`
	Prompt string `json:"prompt,omitempty"`
	Type   string `json:"schedule_type,omitempty" jsonschema:"enum=cron,enum=interval,enum=once"`
	Value  string `json:"schedule_value,omitempty"`
	Zone   string `json:"timezone,omitempty"`
}

func (k kit) updateTask() server.ServerTool {
	t := k.tool("update_task", "Change a scheduled task", updateTaskText, destroys)
	return handle(k, t, func(ctx context.Context, a UpdateTaskArgs, _ progressFunc) (*mcp.CallToolResult, error) {
		value, err := inZone(a.Value, a.Zone)
		if err != nil {
			return nil, err
		}
		return reported(k.sender.Call(ctx, actionOf("update_task"), ipc.Request{Type: ipc.TypeUpdateTask, TaskID: a.TaskID, Prompt: a.Prompt,
			ScheduleType: a.Type, ScheduleValue: value}))
	})
}

package tools

import (
	"context"
	_ "embed"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/ipc"
)

//go:embed pause_task.md
var pauseTaskText string

// TaskArgs are the parameters of pause_task, resume_task and cancel_task.
type TaskArgs struct {
	TaskID string `json:"task_id"`
}

func (k kit) pauseTask() server.ServerTool {
	t := k.tool("pause_task", "Pause a scheduled task", pauseTaskText, changes)
	return handle(k, t, func(ctx context.Context, a TaskArgs, _ progressFunc) (*mcp.CallToolResult, error) {
		return reported(k.sender.Call(ctx, actionOf("pause_task"), ipc.Request{Type: ipc.TypePauseTask, TaskID: a.TaskID}))
	})
}

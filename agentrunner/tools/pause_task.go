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

//go:embed resume_task.md
var resumeTaskText string

//go:embed cancel_task.md
var cancelTaskText string

// TaskArgs are the parameters of pause_task, resume_task and cancel_task.
type TaskArgs struct {
	TaskID string `json:"task_id"`
}

// actOnTask is a tool that does one thing with one task.
func (k kit) actOnTask(name, title, text string, does effect, request ipc.Type) server.ServerTool {
	return handle(k, k.tool(name, title, text, does), func(ctx context.Context, a TaskArgs, _ progressFunc) (*mcp.CallToolResult, error) {
		return reported(k.sender.Call(ctx, actionOf(name), ipc.Request{Type: request, TaskID: a.TaskID}))
	})
}

func (k kit) pauseTask() server.ServerTool {
	return k.actOnTask("pause_task", "Pause a scheduled task", pauseTaskText, changes, ipc.TypePauseTask)
}

func (k kit) resumeTask() server.ServerTool {
	return k.actOnTask("resume_task", "Resume a paused task", resumeTaskText, changes, ipc.TypeResumeTask)
}

func (k kit) cancelTask() server.ServerTool {
	return k.actOnTask("cancel_task", "Cancel a scheduled task", cancelTaskText, destroys, ipc.TypeCancelTask)
}

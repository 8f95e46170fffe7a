package tools

import (
	"context"
	_ "embed"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/ipc"
)

//go:embed resume_task.md
var resumeTaskText string

func (k kit) resumeTask() server.ServerTool {
	t := k.tool("resume_task", "Resume a paused task", resumeTaskText, changes)
	return handle(k, t, func(ctx context.Context, a TaskArgs, _ progressFunc) (*mcp.CallToolResult, error) {
		return reported(k.sender.Call(ctx, actionOf("resume_task"), ipc.Request{Type: ipc.TypeResumeTask, TaskID: a.TaskID}))
	})
}

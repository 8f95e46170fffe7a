package tools

import (
	"context"
	_ "embed"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/ipc"
)

//go:embed cancel_task.md
var cancelTaskText string

func (k kit) cancelTask() server.ServerTool {
	t := k.tool("cancel_task", "Cancel a scheduled task", cancelTaskText, destroys)
	return handle(k, t, func(ctx context.Context, a TaskArgs, _ progressFunc) (*mcp.CallToolResult, error) {
		return reported(k.sender.Call(ctx, actionOf("cancel_task"), ipc.Request{Type: ipc.TypeCancelTask, TaskID: a.TaskID}))
	})
}

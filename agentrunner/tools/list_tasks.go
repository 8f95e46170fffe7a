package tools

import (
	"context"
	_ "embed"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/ipc"
)

//go:embed list_tasks.md
var listTasksText string

// ListTasksArgs are the parameters of list_tasks: none.
type ListTasksArgs struct{}

func (k kit) listTasks() server.ServerTool {
	t := k.tool("list_tasks", "List the scheduled tasks", listTasksText, reads)
	return handle(k, t, func(ctx context.Context, _ ListTasksArgs, _ progressFunc) (*mcp.CallToolResult, error) {
		return reported(k.sender.Call(ctx, actionOf("list_tasks"), ipc.Request{Type: ipc.TypeListTasks}))
	})
}

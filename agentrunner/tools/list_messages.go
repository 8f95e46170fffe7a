package tools

import (
	"context"
	_ "embed"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/ipc"
)

//go:embed list_messages.md
var listMessagesText string

// ListMessagesArgs are the parameters of list_messages.
type ListMessagesArgs struct {
	Limit  int    `json:"limit,omitempty" jsonschema_description:"Default 20, most 100."`
	Before string `json:"before,omitempty" jsonschema_description:"Only messages before this id."`
}

func (k kit) listMessages() server.ServerTool {
	t := k.tool("list_messages", "List recent messages and files", listMessagesText, reads)
	return handle(k, t, func(ctx context.Context, a ListMessagesArgs, _ progressFunc) (*mcp.CallToolResult, error) {
		return reported(k.sender.Call(ctx, actionOf("list_messages"), ipc.Request{Type: ipc.TypeListMessages, Limit: a.Limit, Before: a.Before}))
	})
}

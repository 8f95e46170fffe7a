package tools

import (
	"context"
	_ "embed"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/ipc"
)

//go:embed fetch_file.md
var fetchFileText string

// FetchFileArgs are the parameters of fetch_file.
type FetchFileArgs struct {
	MessageID string `json:"message_id"`
	Number    int    `json:"number,omitempty" jsonschema_description:"Which of its files; default 1."`
}

func (k kit) fetchFile() server.ServerTool {
	t := k.tool("fetch_file", "Bring an earlier file into the workspace", fetchFileText, changes)
	return handle(k, t, func(ctx context.Context, a FetchFileArgs, _ progressFunc) (*mcp.CallToolResult, error) {
		return reported(k.sender.Call(ctx, actionOf("fetch_file"), ipc.Request{Type: ipc.TypeFetchFile, Target: a.MessageID, Number: a.Number}))
	})
}

package tools

import (
	"context"
	_ "embed"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
)

//go:embed unsend.md
var unsendText string

// UnsendArgs are the parameters of unsend.
type UnsendArgs struct {
	MessageID string `json:"message_id" jsonschema_description:"Its id, or the id that its send tool returned: then all of that call."`
	Thread    string `json:"thread,omitempty"`
	Chat      string `json:"chat,omitempty"`
}

func (k kit) unsend() server.ServerTool {
	t := k.tool("unsend", "Delete a message that you sent", unsendText, destroys)
	return handle(k, t, func(ctx context.Context, a UnsendArgs, _ progressFunc) (*mcp.CallToolResult, error) {
		return reported(k.sender.Unsend(ctx, a.MessageID, sender.Options{Chat: a.Chat, Thread: a.Thread}))
	})
}

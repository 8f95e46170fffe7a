package tools

import (
	"context"
	_ "embed"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
)

//go:embed edit_message.md
var editMessageText string

// EditMessageArgs are the parameters of edit_message.
type EditMessageArgs struct {
	MessageID string `json:"message_id" jsonschema_description:"Its id, or the id that its send tool returned."`
	Text      string `json:"text" jsonschema_description:"The whole new text, in Markdown."`
	Thread    string `json:"thread,omitempty"`
	Chat      string `json:"chat,omitempty"`
}

func (k kit) editMessage() server.ServerTool {
	t := k.tool("edit_message", "Change a message that you sent", editMessageText, changes)
	return handle(k, t, func(ctx context.Context, a EditMessageArgs, _ progressFunc) (*mcp.CallToolResult, error) {
		return reported(k.sender.Edit(ctx, a.MessageID, a.Text, sender.Options{Chat: a.Chat, Thread: a.Thread}))
	})
}

package tools

import (
	"context"
	_ "embed"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
)

//go:embed react.md
var reactText string

// ReactArgs are the parameters of react.
type ReactArgs struct {
	MessageID string `json:"message_id"`
	Emoji     string `json:"emoji" jsonschema_description:"Empty takes it back."`
	Thread    string `json:"thread,omitempty"`
	Chat      string `json:"chat,omitempty"`
}

func (k kit) react() server.ServerTool {
	t := k.tool("react", "React to a message", reactText, changes)
	return handle(k, t, func(ctx context.Context, a ReactArgs, _ progressFunc) (*mcp.CallToolResult, error) {
		return reported(k.sender.React(ctx, a.MessageID, a.Emoji, sender.Options{Chat: a.Chat, Thread: a.Thread}))
	})
}

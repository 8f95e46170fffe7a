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
	MessageID string `json:"message_id" jsonschema_description:"Id of the message."`
	Emoji     string `json:"emoji" jsonschema_description:"One emoji; empty takes the reaction back."`
	Thread    string `json:"thread,omitempty" jsonschema_description:"Its thread, if not yours."`
	Chat      string `json:"chat,omitempty" jsonschema_description:"Its chat, if not yours."`
}

func (k kit) react() server.ServerTool {
	t := k.tool("react", "React to a message", reactText, changes)
	return handle(k, t, func(ctx context.Context, a ReactArgs, _ progressFunc) (*mcp.CallToolResult, error) {
		return reported(k.sender.React(ctx, a.MessageID, a.Emoji, sender.Options{Chat: a.Chat, Thread: a.Thread}))
	})
}

package tools

import (
	"context"
	_ "embed"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
)

//go:embed send_message.md
var sendMessageText string

// SendMessageArgs are the parameters of send_message.
type SendMessageArgs struct {
	Text    string `json:"text" jsonschema_description:"Markdown."`
	ReplyTo string `json:"reply_to,omitempty"`
	Thread  string `json:"thread,omitempty"`
	Chat    string `json:"chat,omitempty"`
	Key     string `json:"idempotency_key,omitempty"`
}

func (k kit) sendMessage() server.ServerTool {
	t := k.tool("send_message", "Send a message to the chat", sendMessageText, sends)
	return handle(k, t, func(ctx context.Context, a SendMessageArgs, progress progressFunc) (*mcp.CallToolResult, error) {
		report, err := k.sender.SendText(ctx, a.Text, sender.Options{Chat: a.Chat, Thread: a.Thread, ReplyTo: a.ReplyTo, Key: a.Key, Progress: progress})
		return reported(report, err)
	})
}

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
	Text    string `json:"text" jsonschema_description:"The words to send."`
	ReplyTo string `json:"reply_to,omitempty" jsonschema_description:"Id of the message in the chat that this answers."`
	Thread  string `json:"thread,omitempty" jsonschema_description:"Id of another thread of the chat. Default: the one in which you were asked."`
	Chat    string `json:"chat,omitempty" jsonschema_description:"Chat to send to, as chat_info lists them. Default: this group's own."`
}

func (k kit) sendMessage() server.ServerTool {
	t := k.tool("send_message", "Send a message to the chat", sendMessageText, false)
	return handle(k, t, func(ctx context.Context, a SendMessageArgs, progress progressFunc) (*mcp.CallToolResult, error) {
		report, err := k.sender.SendText(ctx, a.Text, sender.Options{Chat: a.Chat, Thread: a.Thread, ReplyTo: a.ReplyTo, Progress: progress})
		if err != nil {
			return nil, err
		}
		return answered(report), nil
	})
}

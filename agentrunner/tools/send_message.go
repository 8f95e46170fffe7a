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
	ReplyTo string `json:"reply_to,omitempty" jsonschema_description:"Id of the message that this answers."`
	Thread  string `json:"thread,omitempty" jsonschema_description:"Another thread of the chat. Default: yours."`
	Chat    string `json:"chat,omitempty" jsonschema_description:"Another chat, as chat_info lists them. Default: yours."`
	Key     string `json:"idempotency_key,omitempty" jsonschema_description:"Makes a repeated call the same delivery: the same key with the same content is sent once. At most 128 printable ASCII characters."`
}

func (k kit) sendMessage() server.ServerTool {
	t := k.tool("send_message", "Send a message to the chat", sendMessageText, sends)
	return handle(k, t, func(ctx context.Context, a SendMessageArgs, progress progressFunc) (*mcp.CallToolResult, error) {
		report, err := k.sender.SendText(ctx, a.Text, sender.Options{Chat: a.Chat, Thread: a.Thread, ReplyTo: a.ReplyTo, Key: a.Key, Progress: progress})
		return reported(report, err)
	})
}

package tools

import (
	"context"
	_ "embed"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
)

//go:embed send_attachment.md
var sendAttachmentText string

// SendAttachmentArgs are the parameters of send_attachment.
type SendAttachmentArgs struct {
	Content string `json:"content_base64" jsonschema_description:"Complete, standard alphabet, padded."`
	Name    string `json:"file_name"`
	MIME    string `json:"mime_type,omitempty"`
	Caption string `json:"caption,omitempty"`
	Alt     string `json:"alt,omitempty"`
	ReplyTo string `json:"reply_to,omitempty"`
	Thread  string `json:"thread,omitempty"`
	Chat    string `json:"chat,omitempty"`
	Key     string `json:"idempotency_key,omitempty"`
}

func (k kit) sendAttachment() server.ServerTool {
	t := k.tool("send_attachment", "Send content as a file to the chat", sendAttachmentText, sends)
	return handle(k, t, func(ctx context.Context, a SendAttachmentArgs, progress progressFunc) (*mcp.CallToolResult, error) {
		report, err := k.sender.SendContent(ctx, a.Content,
			sender.File{Name: a.Name, MIME: a.MIME, Caption: a.Caption, Alt: a.Alt},
			sender.Options{Chat: a.Chat, Thread: a.Thread, ReplyTo: a.ReplyTo, Key: a.Key, Progress: progress})
		return reported(report, err)
	})
}

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
	Content string `json:"content_base64" jsonschema_description:"The file's bytes in standard base64, with padding; at most 20 MiB of bytes."`
	Name    string `json:"file_name" jsonschema_description:"Name to show in the chat, with its extension."`
	MIME    string `json:"mime_type,omitempty" jsonschema_description:"MIME type. Default: found from name and content."`
	Caption string `json:"caption,omitempty" jsonschema_description:"Text that goes with the file."`
	Alt     string `json:"alt,omitempty" jsonschema_description:"What it shows, in a sentence, for members who cannot see it."`
	ReplyTo string `json:"reply_to,omitempty" jsonschema_description:"Id of the message that this answers."`
	Thread  string `json:"thread,omitempty" jsonschema_description:"Another thread of the chat. Default: yours."`
	Chat    string `json:"chat,omitempty" jsonschema_description:"Another chat, as chat_info lists them. Default: yours."`
	Key     string `json:"idempotency_key,omitempty" jsonschema_description:"Makes a repeated call the same delivery: the same key with the same content is sent once. At most 128 printable ASCII characters."`
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

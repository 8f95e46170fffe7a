package tools

import (
	"context"
	_ "embed"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
)

//go:embed send_as_pdf.md
var sendAsPDFText string

// SendAsPDFArgs are the parameters of send_as_pdf.
type SendAsPDFArgs struct {
	Path    string `json:"file_path,omitempty" jsonschema_description:"An .md or .html file."`
	Text    string `json:"text,omitempty" jsonschema_description:"Markdown; HTML if it begins with a tag."`
	Name    string `json:"file_name,omitempty"`
	Caption string `json:"caption,omitempty"`
	ReplyTo string `json:"reply_to,omitempty"`
	Thread  string `json:"thread,omitempty"`
	Chat    string `json:"chat,omitempty"`
}

func (k kit) sendAsPDF() server.ServerTool {
	t := k.tool("send_as_pdf", "Send Markdown or HTML as a PDF", sendAsPDFText, sends)
	return handle(k, t, func(ctx context.Context, a SendAsPDFArgs, progress progressFunc) (*mcp.CallToolResult, error) {
		return reported(k.sender.SendPDF(ctx, sender.Document{Path: a.Path, Text: a.Text},
			sender.File{Name: a.Name, Caption: a.Caption},
			sender.Options{Chat: a.Chat, Thread: a.Thread, ReplyTo: a.ReplyTo, Progress: progress}))
	})
}

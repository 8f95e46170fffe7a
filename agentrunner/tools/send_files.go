package tools

import (
	"context"
	_ "embed"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
)

//go:embed send_files.md
var sendFilesText string

// SendFilesArgs are the parameters of send_files.
type SendFilesArgs struct {
	Files   []OneFile `json:"files" jsonschema_description:"Their fields are parameters of send_file."`
	ReplyTo string    `json:"reply_to,omitempty"`
	Thread  string    `json:"thread,omitempty"`
	Chat    string    `json:"chat,omitempty"`
	Key     string    `json:"idempotency_key,omitempty"`
}

// OneFile is one of several files.
type OneFile struct {
	Path    string `json:"file_path"`
	Name    string `json:"file_name,omitempty"`
	MIME    string `json:"mime_type,omitempty"`
	Caption string `json:"caption,omitempty"`
	Alt     string `json:"alt,omitempty"`
	As      string `json:"as,omitempty"`
}

func (k kit) sendFiles() server.ServerTool {
	t := k.tool("send_files", "Send several files to the chat", sendFilesText, sends)
	return handle(k, t, func(ctx context.Context, a SendFilesArgs, progress progressFunc) (*mcp.CallToolResult, error) {
		files := make([]sender.File, 0, len(a.Files))
		for _, f := range a.Files {
			if err := chooseStyle(f.As); err != nil {
				return nil, err
			}
			files = append(files, sender.File{Path: f.Path, Name: f.Name, MIME: f.MIME, Caption: f.Caption, Alt: f.Alt, As: f.As})
		}
		report, err := k.sender.SendFiles(ctx, files, sender.Options{Chat: a.Chat, Thread: a.Thread, ReplyTo: a.ReplyTo, Key: a.Key, Progress: progress})
		return reported(report, err)
	})
}

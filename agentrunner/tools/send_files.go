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
	Files   []OneFile `json:"files" jsonschema_description:"The files, in the order in which they are to appear; 1 to 32."`
	ReplyTo string    `json:"reply_to,omitempty" jsonschema_description:"Id of the message that this answers."`
	Thread  string    `json:"thread,omitempty" jsonschema_description:"Another thread of the chat. Default: yours."`
	Chat    string    `json:"chat,omitempty" jsonschema_description:"Another chat, as chat_info lists them. Default: yours."`
	Key     string    `json:"idempotency_key,omitempty" jsonschema_description:"Makes a repeated call the same delivery: the same key with the same content is sent once. At most 128 printable ASCII characters."`
}

// OneFile is one of several files.
type OneFile struct {
	Path    string `json:"file_path" jsonschema_description:"Path of the file: absolute, or relative to the working directory."`
	Name    string `json:"file_name,omitempty" jsonschema_description:"Name to show in the chat. Default: the file's own."`
	MIME    string `json:"mime_type,omitempty" jsonschema_description:"MIME type. Default: found from name and content."`
	Caption string `json:"caption,omitempty" jsonschema_description:"Text that goes with this file."`
	Alt     string `json:"alt,omitempty" jsonschema_description:"What it shows, in a sentence, for members who cannot see it."`
	As      string `json:"as,omitempty" jsonschema:"enum=auto,enum=document,enum=voice,enum=gif,enum=sticker,enum=original" jsonschema_description:"How it is shown; see send_file."`
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

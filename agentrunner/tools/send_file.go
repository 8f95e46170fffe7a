package tools

import (
	"context"
	_ "embed"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
)

//go:embed send_file.md
var sendFileText string

// SendFileArgs are the parameters of send_file.
type SendFileArgs struct {
	Path    string `json:"file_path" jsonschema_description:"Absolute, or relative to the working directory."`
	Name    string `json:"file_name,omitempty" jsonschema_description:"Name in the chat, with its extension. Default: the file's own."`
	MIME    string `json:"mime_type,omitempty" jsonschema_description:"Default: by name and content, which win over a wrong one."`
	Caption string `json:"caption,omitempty" jsonschema_description:"Text with the file."`
	Alt     string `json:"alt,omitempty" jsonschema_description:"What it shows, in a sentence, for members who cannot see it."`
	As      string `json:"as,omitempty" jsonschema:"enum=auto,enum=document,enum=voice,enum=gif,enum=sticker,enum=original" jsonschema_description:"How it is shown. auto: converted if the chat would not show it; original: never converted; document: as a file, unchanged; voice: Ogg Opus audio (16 kHz, mono) as a voice note; gif: a video that loops silently; sticker: a WebP picture."`
	ReplyTo string `json:"reply_to,omitempty" jsonschema_description:"Id of the message that this answers."`
	Thread  string `json:"thread,omitempty" jsonschema_description:"Another thread than yours."`
	Chat    string `json:"chat,omitempty" jsonschema_description:"Another chat, as chat_info lists them."`
	Key     string `json:"idempotency_key,omitempty" jsonschema_description:"Calls with the same key and content are one delivery."`
}

func (k kit) sendFile() server.ServerTool {
	t := k.tool("send_file", "Send a file to the chat", sendFileText, sends)
	return handle(k, t, func(ctx context.Context, a SendFileArgs, progress progressFunc) (*mcp.CallToolResult, error) {
		if err := chooseStyle(a.As); err != nil {
			return nil, err
		}
		report, err := k.sender.SendFiles(ctx,
			[]sender.File{{Path: a.Path, Name: a.Name, MIME: a.MIME, Caption: a.Caption, Alt: a.Alt, As: a.As}},
			sender.Options{Chat: a.Chat, Thread: a.Thread, ReplyTo: a.ReplyTo, Key: a.Key, Progress: progress})
		return reported(report, err)
	})
}

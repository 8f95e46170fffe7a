package tools

import (
	"context"
	_ "embed"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

//go:embed chat_info.md
var chatInfoText string

// chatInfo is the only tool whose answer is not a Report.
const chatInfo = "chat_info"

// ChatInfoArgs are the parameters of chat_info: none.
type ChatInfoArgs struct{}

func (k kit) chatInfo() server.ServerTool {
	t := k.tool(chatInfo, "See whether files can be sent, where to and how large", chatInfoText, reads)
	return handle(k, t, func(context.Context, ChatInfoArgs, progressFunc) (*mcp.CallToolResult, error) {
		info := k.sender.Info(k.version)
		return mcp.NewToolResultStructured(info, info.Summary), nil
	})
}

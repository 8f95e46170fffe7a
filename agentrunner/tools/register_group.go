package tools

import (
	"context"
	_ "embed"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/ipc"
)

//go:embed register_group.md
var registerGroupText string

// RegisterGroupArgs are the parameters of register_group, with NanoClaw v1's names.
type RegisterGroupArgs struct {
	JID     string `json:"jid" jsonschema_description:"The chat's id."`
	Name    string `json:"name"`
	Folder  string `json:"folder,omitempty" jsonschema_description:"Lower case, digits, hyphens. Default: made of the name."`
	Trigger string `json:"trigger,omitempty" jsonschema_description:"Calls the assistant, such as @Andy; without it, every message does."`
}

func (k kit) registerGroup() server.ServerTool {
	t := k.tool("register_group", "Register a chat as a group", registerGroupText, sends)
	return handle(k, t, func(ctx context.Context, a RegisterGroupArgs, _ progressFunc) (*mcp.CallToolResult, error) {
		return reported(k.sender.Call(ctx, actionOf("register_group"), ipc.Request{Type: ipc.TypeRegisterGroup, JID: a.JID, Name: a.Name,
			NewFolder: a.Folder, Trigger: a.Trigger}))
	})
}

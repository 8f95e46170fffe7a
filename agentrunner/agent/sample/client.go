package sample

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
	"github.com/longshore-bridge/longshore/ipc"
)

// said is a tool's answer.
type said struct {
	text string
	sent bool // the chat has it; otherwise the text says what happened
}

// call starts the tool server, calls one tool and ends the server.
func (a Agent) call(ctx context.Context, t agent.Turn, tool string, arguments map[string]any) (said, error) {
	if len(a.Tools) == 0 {
		return said{}, fmt.Errorf("call %s: no program that serves the tools is configured", tool)
	}
	c, err := client.NewStdioMCPClientWithOptions(a.Tools[0], t.Env, a.Tools[1:], transport.WithCommandStderrWriter(os.Stderr))
	if err != nil {
		return said{}, fmt.Errorf("start the tools: %w", err)
	}
	defer c.Close()
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "longshore-sample", Version: "1"}
	if _, err := c.Initialize(ctx, hello); err != nil {
		return said{}, fmt.Errorf("start the tools: %w", err)
	}
	request := mcp.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = tool, arguments
	result, err := c.CallTool(ctx, request)
	if err != nil {
		return said{}, fmt.Errorf("call %s: %w", tool, err)
	}
	var text strings.Builder
	for _, content := range result.Content {
		if part, ok := content.(mcp.TextContent); ok {
			text.WriteString(part.Text)
		}
	}
	fields, _ := result.StructuredContent.(map[string]any)
	switch fields["status"] {
	case string(ipc.Sent), string(ipc.Delivered), string(ipc.Read):
		return said{text: text.String(), sent: true}, nil
	}
	return said{text: text.String()}, nil
}

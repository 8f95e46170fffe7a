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
)

// call starts the tool server, calls one tool and ends the server again. The
// text is the tool's, whether it succeeded or not: both are worth telling.
func (a Agent) call(ctx context.Context, t agent.Turn, tool string, arguments map[string]any) (string, error) {
	if len(a.Tools) == 0 {
		return "", fmt.Errorf("call %s: no program is given that serves the tools", tool)
	}
	c, err := client.NewStdioMCPClientWithOptions(a.Tools[0], t.Env, a.Tools[1:], transport.WithCommandStderrWriter(os.Stderr))
	if err != nil {
		return "", fmt.Errorf("start the tools: %w", err)
	}
	defer c.Close()
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "longshore-sample", Version: "1"}
	if _, err := c.Initialize(ctx, hello); err != nil {
		return "", fmt.Errorf("start the tools: %w", err)
	}
	request := mcp.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = tool, arguments
	result, err := c.CallTool(ctx, request)
	if err != nil {
		return "", fmt.Errorf("call %s: %w", tool, err)
	}
	var text strings.Builder
	for _, content := range result.Content {
		if part, ok := content.(mcp.TextContent); ok {
			text.WriteString(part.Text)
		}
	}
	return text.String(), nil
}

package tools

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/longshore-bridge/longshore/ipc"
)

// progressFunc tells the client how many bytes have been sent.
type progressFunc func(p ipc.Progress, text string)

// progress returns nil if the client did not ask for progress. Its last message may
// arrive after the reply; nothing depends on it.
func (k kit) progress(ctx context.Context, req mcp.CallToolRequest) progressFunc {
	if req.Params.Meta == nil || req.Params.Meta.ProgressToken == nil {
		return nil
	}
	token := req.Params.Meta.ProgressToken
	told := int64(-1)
	return func(p ipc.Progress, text string) {
		if p.Sent <= told { // MCP requires a growing number
			return
		}
		told = p.Sent
		// A client that is gone or slow misses progress, never the reply.
		_ = k.server.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
			"progressToken": token, "progress": p.Sent, "total": p.Total, "message": text})
	}
}

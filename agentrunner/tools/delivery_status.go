package tools

import (
	"context"
	_ "embed"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

//go:embed delivery_status.md
var deliveryStatusText string

// DeliveryStatusArgs are the parameters of delivery_status.
type DeliveryStatusArgs struct {
	ID string `json:"id" jsonschema_description:"As its tool returned it."`
}

func (k kit) deliveryStatus() server.ServerTool {
	t := k.tool("delivery_status", "See what became of a file or message", deliveryStatusText, reads)
	return handle(k, t, func(_ context.Context, a DeliveryStatusArgs, _ progressFunc) (*mcp.CallToolResult, error) {
		report, err := k.sender.Status(a.ID)
		if err != nil {
			return nil, err
		}
		result := answered(report)
		result.IsError = false // the question was answered, whatever the status is
		return result, nil
	})
}

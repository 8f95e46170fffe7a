package tools

import (
	"context"
	_ "embed"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
)

//go:embed ask.md
var askText string

// AskArgs are the parameters of ask.
type AskArgs struct {
	Question string   `json:"question"`
	Choices  []string `json:"choices" jsonschema_description:"2 to 12 short texts, all different."`
	Several  bool     `json:"several,omitempty" jsonschema_description:"A member may choose more than one."`
	Open     int      `json:"open_seconds,omitempty" jsonschema_description:"Time to answer; default 600."`
	Wait     *int     `json:"wait_seconds,omitempty" jsonschema_description:"Wait for the first answer; default and most 45."`
	Thread   string   `json:"thread,omitempty"`
	Chat     string   `json:"chat,omitempty"`
	Key      string   `json:"idempotency_key,omitempty"`
}

func (k kit) ask() server.ServerTool {
	t := k.tool("ask", "Ask the chat a question with choices", askText, sends)
	return handle(k, t, func(ctx context.Context, a AskArgs, _ progressFunc) (*mcp.CallToolResult, error) {
		q := sender.Question{Text: a.Question, Choices: a.Choices, Several: a.Several, Open: time.Duration(a.Open) * time.Second}
		o := sender.Options{Chat: a.Chat, Thread: a.Thread, Key: a.Key}
		if a.Wait != nil {
			q.Wait, q.NoWait = time.Duration(*a.Wait)*time.Second, *a.Wait == 0
		}
		return reported(k.sender.Ask(ctx, q, o))
	})
}

package tools

import (
	"context"
	_ "embed"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
)

// Messages are members' messages that are pushed into the client's session. Errors that a
// model can act on are *sender.Problem.
type Messages interface {
	// Ready is called when the client is known to take notifications, perhaps several times.
	Ready()

	// Pending describes the messages that have not ended.
	Pending(ctx context.Context) (sender.Report, error)
	// End ends a message, and answers it if answer is not empty.
	End(ctx context.Context, id, answer string) (sender.Report, error)
	// File brings a file of a message to this machine.
	File(ctx context.Context, id string, number int) (sender.Report, error)
}

//go:embed messages.md
var messagesText string

const gotMessage = "got_message"

// SessionServer is Server for a session that gets the messages of m pushed. more are further
// options of the server.
func SessionServer(s *sender.Sender, version string, m Messages, more ...server.ServerOption) *server.MCPServer {
	// A client of a newer protocol says nothing between its first request and that for the list.
	all, k := serverOf(s, version, []func(){m.Ready}, append(more, server.WithInstructions(instructions+messagesText))...)
	all.AddNotificationHandler(string(mcp.MethodNotificationInitialized), func(context.Context, mcp.JSONRPCNotification) { m.Ready() })
	all.AddTools(k.gotMessage(m), k.answerMessage(m), k.pendingMessages(m), k.messageFile(m))
	return all
}

// GotMessageArgs are the parameters of got_message.
type GotMessageArgs struct {
	ID string `json:"id" jsonschema_description:"The message's id."`
}

func (k kit) gotMessage(m Messages) server.ServerTool {
	t := k.tool(gotMessage, "Acknowledge a member's message", "Ends a member's message without an answer. A message that is not ended is shown again.", changes)
	return handle(k, t, func(ctx context.Context, a GotMessageArgs, _ progressFunc) (*mcp.CallToolResult, error) {
		return reported(m.End(ctx, a.ID, ""))
	})
}

// AnswerMessageArgs are the parameters of answer_message.
type AnswerMessageArgs struct {
	ID   string `json:"id" jsonschema_description:"The message's id."`
	Text string `json:"text" jsonschema_description:"The answer, in Markdown."`
}

func (k kit) answerMessage(m Messages) server.ServerTool {
	t := k.tool("answer_message", "Answer a member's message", "Sends a text to the chat as the answer to a member's message, once, and ends the message.", changes)
	return handle(k, t, func(ctx context.Context, a AnswerMessageArgs, _ progressFunc) (*mcp.CallToolResult, error) {
		if strings.TrimSpace(a.Text) == "" {
			return nil, &sender.Problem{Code: "invalid_argument", Message: "the text is empty", Hint: "write an answer, or call got_message"}
		}
		return reported(m.End(ctx, a.ID, a.Text))
	})
}

func (k kit) pendingMessages(m Messages) server.ServerTool {
	t := k.tool("pending_messages", "List members' messages that wait", "Lists the members' messages that you have neither answered nor acknowledged.", reads)
	return handle(k, t, func(ctx context.Context, _ struct{}, _ progressFunc) (*mcp.CallToolResult, error) {
		return reported(m.Pending(ctx))
	})
}

// MessageFileArgs are the parameters of message_file.
type MessageFileArgs struct {
	ID     string `json:"id" jsonschema_description:"The message's id."`
	Number int    `json:"number,omitempty" jsonschema_description:"Which of its files; default 1."`
}

func (k kit) messageFile(m Messages) server.ServerTool {
	t := k.tool("message_file", "Bring a member's file here", "Copies a file of a member's message to this machine and returns its path. Call it before you end the message.", changes)
	return handle(k, t, func(ctx context.Context, a MessageFileArgs, _ progressFunc) (*mcp.CallToolResult, error) {
		return reported(m.File(ctx, a.ID, max(a.Number, 1)))
	})
}

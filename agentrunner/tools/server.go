// Package tools is the MCP server that an assistant's CLI starts in its container.
// It offers the tools with which a model sends files and texts to its chat.
//
// Each tool has a Go file for its parameters and, beside it, an .md file with the
// text for the model. Package sender does the work; this package only maps it to
// MCP. It opens no connection except stdin and stdout.
package tools

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
)

// Name is the server's name. CLIs put it before the names of the tools.
const Name = "longshore"

//go:embed instructions.md
var instructions string

// Server returns the MCP server with the tools of s. Clients and chat_info show
// version.
func Server(s *sender.Sender, version string) *server.MCPServer {
	m := server.NewMCPServer(Name, version,
		server.WithToolCapabilities(false),
		server.WithRecovery(),
		server.WithInstructions(instructions),
	)
	k := kit{sender: s, server: m, version: version}
	// schemas.json is embedded and tested. If it were broken, the tools would have
	// no parameters.
	_ = json.Unmarshal(schemaFile, &k.schemas)
	m.AddTools(k.sendFile(), k.sendFiles(), k.sendAttachment(), k.sendMessage(), k.deliveryStatus(), k.chatInfo())
	return m
}

// kit is shared by all tools.
type kit struct {
	sender  *sender.Sender
	server  *server.MCPServer
	version string
	schemas map[string]schemas
}

// schemas are those of one tool. They are stored in schemas.json. A test generates
// that file from the Go types and keeps both equal; generating the schemas at each
// start took longer than the rest of the start.
type schemas struct {
	Input  json.RawMessage `json:"input"`
	Output json.RawMessage `json:"output"`
}

//go:embed schemas.json
var schemaFile []byte

// tool describes one tool. reads means that the tool changes nothing.
func (k kit) tool(name, title, text string, reads bool) mcp.Tool {
	schema := k.schemas[name]
	if !k.sender.Main() {
		schema.Input = without(schema.Input, "chat")
	}
	if !k.sender.Threads() {
		schema.Input = without(schema.Input, "thread")
	}
	t := mcp.NewToolWithRawSchema(name, text, schema.Input)
	t.RawOutputSchema = schema.Output
	writes := !reads
	never := false
	t.Annotations = mcp.ToolAnnotation{Title: title, ReadOnlyHint: &reads, DestructiveHint: &never, IdempotentHint: &reads, OpenWorldHint: &writes}
	// Claude Code hides tools behind a search unless a server asks it not to.
	t.Meta = mcp.NewMetaFromMap(map[string]any{"anthropic/alwaysLoad": true})
	return t
}

// without removes one property from an object's schema. Only the main group may name
// a chat, and most chats have no threads, so other models do not see these parameters.
func without(schema json.RawMessage, property string) json.RawMessage {
	var fields map[string]json.RawMessage
	var properties map[string]json.RawMessage
	if json.Unmarshal(schema, &fields) != nil || json.Unmarshal(fields["properties"], &properties) != nil {
		return schema
	}
	delete(properties, property)
	kept, err := json.Marshal(properties)
	if err != nil {
		return schema
	}
	fields["properties"] = kept
	smaller, err := json.Marshal(fields)
	if err != nil {
		return schema
	}
	return smaller
}

// shape is the part of a schema that bind checks.
type shape struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
}

func shapeOf(t mcp.Tool) shape {
	var s shape
	// The schema is embedded and tested. If it were broken, the test of every call
	// would fail.
	_ = json.Unmarshal(t.RawInputSchema, &s)
	slices.Sort(s.Required)
	return s
}

// answered returns the result of a call that reached the queue. Text and structure
// each say everything, since CLIs show a model only one of them.
func answered(r sender.Report) *mcp.CallToolResult {
	result := mcp.NewToolResultStructured(r, r.Summary)
	result.IsError = r.Failed()
	return result
}

// refused returns the result of a call that the model can correct. The result
// follows the tool's output schema, as strict clients discard any other.
func (k kit) refused(tool string, p *sender.Problem) *mcp.CallToolResult {
	if tool == chatInfo {
		info := k.sender.Info(k.version)
		info.Summary, info.Code, info.Message, info.Hint = p.Text(), p.Code, p.Message, p.Hint
		result := mcp.NewToolResultStructured(info, info.Summary)
		result.IsError = true
		return result
	}
	result := answered(sender.Report{Status: "refused", Summary: p.Text(), Code: p.Code, Message: p.Message, Hint: p.Hint})
	result.IsError = true
	return result
}

// broken returns the result of a call that failed for a reason that the model cannot
// change.
func (k kit) broken(tool string, err error) *mcp.CallToolResult {
	return k.refused(tool, &sender.Problem{Code: "internal", Message: fmt.Sprintf("%s failed: %v", tool, err),
		Hint: "call it once more; if it fails again, tell the operator"})
}

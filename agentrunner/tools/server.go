// Package tools is the MCP server that an assistant's CLI starts in its
// container: the tools by which a model sends files and words to its chat.
//
// Each tool has a file for its parameters and a text beside it that the model
// reads. What the tools do is [sender]'s part; this package knows only how it
// is called over MCP. It opens no connection but stdin and stdout.
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

// Name is the server's name, which CLIs put before the tools' own.
const Name = "longshore"

//go:embed instructions.md
var instructions string

// Server returns the MCP server with the tools of s. version is shown to
// clients and by chat_info.
func Server(s *sender.Sender, version string) *server.MCPServer {
	m := server.NewMCPServer(Name, version,
		server.WithToolCapabilities(false),
		server.WithRecovery(),
		server.WithInstructions(instructions),
	)
	k := kit{sender: s, server: m, version: version}
	// The file is our own and tested; were it broken, the tools would have no parameters.
	_ = json.Unmarshal(schemaFile, &k.schemas)
	m.AddTools(k.sendFile(), k.sendFiles(), k.sendAttachment(), k.sendMessage(), k.deliveryStatus(), k.chatInfo())
	return m
}

// kit is what the tools share.
type kit struct {
	sender  *sender.Sender
	server  *server.MCPServer
	version string
	schemas map[string]schemas
}

// schemas are those of one tool. They lie in schemas.json, made from the Go
// types by a test that also keeps them equal: making them at each start took
// longer than all the rest of it.
type schemas struct {
	Input  json.RawMessage `json:"input"`
	Output json.RawMessage `json:"output"`
}

//go:embed schemas.json
var schemaFile []byte

// tool describes one tool. reads says that it changes nothing.
func (k kit) tool(name, title, text string, reads bool) mcp.Tool {
	schema := k.schemas[name]
	if !k.sender.Main() {
		schema.Input = without(schema.Input, "chat")
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

// without takes one property out of an object's schema. Only the main group
// may name a chat, so no other model is offered the parameter.
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

// shape is what a call's arguments are held against.
type shape struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
}

func shapeOf(t mcp.Tool) shape {
	var s shape
	// The schema is our own, from a Go type: were it broken, every call's test would say so.
	_ = json.Unmarshal(t.RawInputSchema, &s)
	slices.Sort(s.Required)
	return s
}

// answered is the result of a call that reached the queue. Text and structure
// each say everything, since CLIs show a model only one of them.
func answered(r sender.Report) *mcp.CallToolResult {
	result := mcp.NewToolResultStructured(r, r.Summary)
	result.IsError = r.Failed()
	return result
}

// refused is the result of a call that a model can correct. It has the form
// that the tool's schema promises: strict clients throw away any other.
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

// broken is the result of a call that failed for no reason a model can do
// something about.
func (k kit) broken(tool string, err error) *mcp.CallToolResult {
	return k.refused(tool, &sender.Problem{Code: "internal", Message: fmt.Sprintf("%s did not work: %v", tool, err),
		Hint: "call it once more; if it fails again, tell the operator"})
}

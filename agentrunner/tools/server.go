// Package tools is the MCP server that an assistant's CLI starts in its container.
// It offers the tools with which a model sends files and texts to its chat.
//
// Each tool has a Go file for its parameters and, beside it, an .md file with the
// text for the model. Package sender does the work; this package only maps it to
// MCP. It opens no connection except stdin and stdout.
package tools

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
)

// Name is the server's name. CLIs put it before the names of the tools.
const Name = "longshore"

//go:embed instructions.md
var instructions string

// Server returns the MCP server with the tools of s. Clients and chat_info show
// version. listed is called for each list of the tools, before the client gets it.
func Server(s *sender.Sender, version string, listed ...func()) *server.MCPServer {
	m, _ := serverOf(s, version, listed)
	return m
}

func serverOf(s *sender.Sender, version string, listed []func(), more ...server.ServerOption) (*server.MCPServer, kit) {
	hooks := &server.Hooks{}
	hooks.AddAfterListTools(func(_ context.Context, _ any, _ *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
		result.Tools = offeredBy(s, result.Tools)
		for _, f := range listed {
			f()
		}
	})
	m := server.NewMCPServer(Name, version, append([]server.ServerOption{
		server.WithHooks(hooks),
		server.WithToolCapabilities(false),
		server.WithRecovery(),
		server.WithInstructions(instructions),
	}, more...)...)
	k := kit{sender: s, server: m, version: version, names: s.NamesChats()}
	// schemas.json is embedded and tested. If it were broken, the tools would have
	// no parameters.
	_ = json.Unmarshal(schemaFile, &k.schemas)
	m.AddTools(k.sendFile(), k.sendFiles(), k.sendAttachment(), k.sendMessage(), k.deliveryStatus(), k.chatInfo(),
		k.sendAsPDF(), k.react(), k.editMessage(), k.unsend(), k.ask(), k.listMessages(), k.fetchFile(),
		k.scheduleTask(), k.listTasks(), k.updateTask(), k.pauseTask(), k.resumeTask(), k.cancelTask(), k.registerGroup())
	return m, k
}

// offeredBy leaves out the tools that this chat or the group's rights do not have. They
// can be called nevertheless, and then say why they are not there. send_file comes
// first, for clients that show a model only some of the tools.
func offeredBy(s *sender.Sender, all []mcp.Tool) []mcp.Tool {
	can := s.Can()
	shown := make([]mcp.Tool, 0, len(all))
	for _, t := range all {
		switch {
		case !offered(t.Name, can), t.Name == "send_as_pdf" && !s.Prints(), t.Name == "fetch_file" && !s.Fetches():
		case t.Name == "send_file":
			shown = slices.Insert(shown, 0, t)
		default:
			shown = append(shown, t)
		}
	}
	return shown
}

// offered reports whether a host that publishes can has a tool. A host of an older
// version publishes none and has the first six.
func offered(name string, can []string) bool {
	switch name {
	case "send_file", "send_files", "send_attachment", "send_message", "delivery_status", chatInfo,
		gotMessage, "answer_message", "pending_messages", "message_file":
		return true
	case "send_as_pdf":
		return can != nil
	}
	return slices.Contains(can, actionOf(name))
}

// actionOf returns the word of ipc.Context.Can that a tool needs.
func actionOf(tool string) string {
	switch tool {
	case "edit_message":
		return "edit"
	case "list_messages", "fetch_file":
		return "history"
	case "register_group":
		return "register"
	case "schedule_task", "list_tasks", "update_task", "pause_task", "resume_task", "cancel_task":
		return "schedule"
	}
	return tool // react, unsend, ask
}

// kit is shared by all tools.
type kit struct {
	sender  *sender.Sender
	server  *server.MCPServer
	version string
	names   bool // the group may name another chat than its own
	schemas schemas
}

// schemas are those of all tools. They are stored in schemas.json. A test generates
// that file from the Go types and keeps both equal; generating the schemas at each
// start took longer than the rest of the start. The schemas of answers are short,
// since a chat's whole list of tools must be.
type schemas struct {
	Inputs map[string]json.RawMessage `json:"inputs"`
	Report json.RawMessage            `json:"report"`
	Info   json.RawMessage            `json:"info"`
}

//go:embed schemas.json
var schemaFile []byte

// effect is what a tool does, as clients are told before they call it.
type effect int

const (
	reads    effect = iota // changes nothing
	sends                  // adds something; a second call adds it again
	changes                // a second call changes nothing more
	destroys               // what was there is gone
)

// tool describes one tool.
func (k kit) tool(name, title, text string, does effect) mcp.Tool {
	schema := k.schemas.Inputs[name]
	if !k.names {
		schema = without(schema, "chat")
	}
	if !k.sender.Main() {
		schema = without(schema, "target_group_jid")
	}
	if !k.sender.Threads() {
		schema = without(schema, "thread")
	}
	if !k.sender.Keys() {
		schema = without(schema, "idempotency_key")
	}
	t := mcp.NewToolWithRawSchema(name, strings.TrimSpace(text), schema)
	if t.RawOutputSchema = k.schemas.Report; name == chatInfo {
		t.RawOutputSchema = k.schemas.Info
	}
	t.Annotations = hints(title, does)
	// Claude Code hides tools behind a search unless a server asks it not to.
	t.Meta = mcp.NewMetaFromMap(map[string]any{"anthropic/alwaysLoad": true})
	return t
}

// hints are what clients are told of a tool before they call it. What MCP assumes
// anyway is left out: not read-only, destructive, not idempotent, open world.
func hints(title string, does effect) mcp.ToolAnnotation {
	yes, no := true, false
	h := mcp.ToolAnnotation{Title: title}
	switch does {
	case reads:
		h.ReadOnlyHint, h.OpenWorldHint = &yes, &no
	case sends:
		h.DestructiveHint = &no
	case changes:
		h.DestructiveHint, h.IdempotentHint = &no, &yes
	case destroys:
		h.DestructiveHint, h.IdempotentHint = &yes, &yes
	}
	return h
}

// without removes one property from an object's schema. Most groups may not name
// a chat, most chats have no threads, and a queue has no keys, so other models do not see
// these parameters.
func without(schema json.RawMessage, property string) json.RawMessage {
	var fields map[string]json.RawMessage
	var properties map[string]json.RawMessage
	if !bytes.Contains(schema, []byte(`"`+property+`"`)) || json.Unmarshal(schema, &fields) != nil || json.Unmarshal(fields["properties"], &properties) != nil {
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
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required"`
}

type property struct {
	Type string `json:"type"`
}

func shapeOf(t mcp.Tool) shape {
	var s shape
	// The schema is embedded and tested. If it were broken, the test of every call
	// would fail.
	_ = json.Unmarshal(t.RawInputSchema, &s)
	slices.Sort(s.Required)
	return s
}

// reported is answered for a call that may have failed before that.
func reported(r sender.Report, err error) (*mcp.CallToolResult, error) {
	if err != nil {
		return nil, err
	}
	return answered(r), nil
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

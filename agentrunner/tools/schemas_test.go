package tools

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
)

var update = flag.Bool("update", false, "write schemas.json")

func inputOf[A any]() json.RawMessage {
	t := mcp.NewTool("", mcp.WithInputSchema[A]())
	var input map[string]json.RawMessage
	if err := json.Unmarshal(t.RawInputSchema, &input); err != nil {
		panic(err)
	}
	if input["properties"] != nil {
		return t.RawInputSchema
	}
	input["properties"] = json.RawMessage("{}") // OpenAI's API refuses a whole request over a schema without
	return marshal(input)
}

// outputOf is the schema of R with these properties only, and of them only the type.
// An answer may have others.
func outputOf[R any](properties ...string) json.RawMessage {
	var full struct {
		Properties map[string]struct{ Type any }
		Required   []string
	}
	if err := json.Unmarshal(marshal(mcp.NewTool("", mcp.WithOutputSchema[R]()).OutputSchema), &full); err != nil {
		panic(err)
	}
	types := map[string]any{}
	for _, name := range properties {
		types[name] = map[string]any{"type": full.Properties[name].Type}
	}
	required := slices.DeleteFunc(full.Required, func(name string) bool { return types[name] == nil })
	return marshal(map[string]any{"type": "object", "properties": types, "required": required})
}

func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func TestSchemasAreThoseOfTheTypes(t *testing.T) {
	made, err := json.MarshalIndent(schemas{
		Inputs: map[string]json.RawMessage{
			"send_file": inputOf[SendFileArgs](), "send_files": inputOf[SendFilesArgs](),
			"send_attachment": inputOf[SendAttachmentArgs](), "send_message": inputOf[SendMessageArgs](),
			"delivery_status": inputOf[DeliveryStatusArgs](), chatInfo: inputOf[ChatInfoArgs](),
			"send_as_pdf": inputOf[SendAsPDFArgs](), "react": inputOf[ReactArgs](), "edit_message": inputOf[EditMessageArgs](),
			"unsend": inputOf[UnsendArgs](), "ask": inputOf[AskArgs](), "list_messages": inputOf[ListMessagesArgs](),
			"fetch_file": inputOf[FetchFileArgs](), "schedule_task": inputOf[ScheduleTaskArgs](),
			"list_tasks": inputOf[ListTasksArgs](), "update_task": inputOf[UpdateTaskArgs](), "pause_task": inputOf[TaskArgs](),
			"resume_task": inputOf[TaskArgs](), "cancel_task": inputOf[TaskArgs](), "register_group": inputOf[RegisterGroupArgs](),
			gotMessage: inputOf[GotMessageArgs](), "answer_message": inputOf[AnswerMessageArgs](),
			"pending_messages": inputOf[struct{}](), "message_file": inputOf[MessageFileArgs](),
		},
		Report: outputOf[sender.Report]("id", "status", "summary", "message_id", "code", "data"),
		Info:   outputOf[sender.Info]("summary", "working", "connected", "can", "limits", "code"),
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("schemas.json", append(made, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(bytes.TrimSpace(schemaFile)), string(made)); diff != "" {
		t.Errorf("schemas.json differs from the types (go test ./agentrunner/tools -update writes it):\n%s", diff)
	}
}

package tools

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
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
	if input["properties"] == nil {
		delete(input, "additionalProperties")
		input["properties"] = json.RawMessage("{}") // OpenAI's API refuses a whole request over a schema without
		return marshal(input)
	}
	// A wrong name is refused by bind, which says what was probably meant: no client need do it.
	return oneType(bytes.ReplaceAll(t.RawInputSchema, []byte(`,"additionalProperties":false`), nil))
}

// oneType lets no value be null as well: Gemini's API refuses a whole request over a list of types.
func oneType(schema json.RawMessage) json.RawMessage {
	return regexp.MustCompile(`\["null",("\w+")\]`).ReplaceAll(schema, []byte("$1"))
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
	return oneType(marshal(map[string]any{"type": "object", "properties": types, "required": required}))
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

// TestEverySchemaIsOneThatAllModelsTake: ask had a list of types, and Gemini's API refused each
// request of its assistant.
func TestEverySchemaIsOneThatAllModelsTake(t *testing.T) {
	all := map[string]json.RawMessage{}
	for name, tool := range SessionServer(sender.New(sender.Config{Main: true}), "1", struct{ Messages }{}).ListTools() {
		all[name], all[name+"'s answer"] = tool.Tool.RawInputSchema, tool.Tool.RawOutputSchema
	}
	var file schemas
	if err := json.Unmarshal(schemaFile, &file); err != nil {
		t.Fatal(err)
	}
	for name, schema := range file.Inputs { // with the parameters that this server leaves out
		if all[name] == nil {
			t.Errorf("no server has the tool %s", name)
		}
		all["in the file: "+name] = schema
	}
	for name, raw := range all {
		var schema map[string]any
		if err := json.Unmarshal(raw, &schema); err != nil {
			t.Fatal(name, err)
		}
		if schema["properties"] == nil {
			t.Errorf("%s has no properties", name)
		}
		for _, bad := range tooRich(schema) {
			t.Errorf("%s: %s", name, bad)
		}
	}
}

// TestListOfEverythingStaysShort: a CLI gives its model names, texts and parameters of all tools
// at every turn. Those of a main group with threads were 17 KB.
func TestListOfEverythingStaysShort(t *testing.T) {
	var file schemas // with the parameters that a server may leave out
	if err := json.Unmarshal(schemaFile, &file); err != nil {
		t.Fatal(err)
	}
	all := Server(sender.New(sender.Config{}), "1").ListTools()
	seen := 0
	for name, tool := range all {
		if len(tool.Tool.Description) < 70 || tool.Tool.Meta == nil {
			t.Errorf("%s: too little is said of it: %q", name, tool.Tool.Description)
		}
		seen += len(marshal(map[string]any{"name": name, "description": tool.Tool.Description, "inputSchema": file.Inputs[name]}))
	}
	if len(all) != 20 || seen > 12<<10 {
		t.Errorf("%d tools have %d bytes, at most %d", len(all), seen, 12<<10)
	}
}

// tooRich names what the API of some model refuses in a schema.
func tooRich(schema map[string]any) (bad []string) {
	for _, key := range []string{"anyOf", "oneOf", "allOf", "not", "$ref", "$defs", "definitions"} {
		if schema[key] != nil {
			bad = append(bad, key)
		}
	}
	if _, one := schema["type"].(string); !one {
		bad = append(bad, fmt.Sprintf("the type %v", schema["type"]))
	}
	inner, _ := schema["properties"].(map[string]any)
	if items := schema["items"]; items != nil {
		inner = map[string]any{"items": items}
	}
	for name, schema := range inner {
		for _, b := range tooRich(schema.(map[string]any)) {
			bad = append(bad, name+": "+b)
		}
	}
	return bad
}

// TestEveryToolTakesNumbersAndTruthValuesAsText, and a whole number with a fraction, as models
// write them whose numbers all have one.
func TestEveryToolTakesNumbersAndTruthValuesAsText(t *testing.T) {
	tried := 0
	for name, tool := range SessionServer(sender.New(sender.Config{Main: true}), "1", struct{ Messages }{}).ListTools() {
		expected := shapeOf(tool.Tool)
		expected.Required = nil
		for key, p := range expected.Properties {
			for text, want := range map[string]any{`"7"`: 7.0, `" 7.0 "`: 7.0, `7.0`: 7.0, `"true"`: true, `"False"`: false} {
				if _, isNumber := want.(float64); isNumber != (p.Type == "integer") || !isNumber && p.Type != "boolean" {
					continue
				}
				tried++
				got := map[string]any{}
				if err := bind(name, expected, json.RawMessage(`{"`+key+`":`+text+`}`), &got); err != nil || got[key] != want {
					t.Errorf("%s: %s of %s is %v, %v", name, key, text, got[key], err)
				}
			}
		}
	}
	if tried < 15 {
		t.Errorf("only %d were tried", tried)
	}
	var a AskArgs
	whole := shape{Properties: map[string]property{"open_seconds": {"integer"}, "question": {"string"}}}
	for _, bad := range []string{`{"open_seconds":"1.5"}`, `{"open_seconds":"Inf"}`, `{"open_seconds":"1e300"}`, `{"open_seconds":""}`, `{"open_seconds":true}`, `{"question":7}`} {
		if err := bind("ask", whole, json.RawMessage(bad), &a); err == nil {
			t.Errorf("%s is taken as %+v", bad, a)
		}
	}
}

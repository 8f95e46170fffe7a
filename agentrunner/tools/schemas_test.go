package tools

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
)

var update = flag.Bool("update", false, "write schemas.json")

func schemasOf[A, R any]() schemas {
	t := mcp.NewTool("", mcp.WithInputSchema[A](), mcp.WithOutputSchema[R]())
	output, err := json.Marshal(t.OutputSchema)
	if err != nil {
		panic(err)
	}
	var input map[string]json.RawMessage
	if err := json.Unmarshal(t.RawInputSchema, &input); err != nil {
		panic(err)
	}
	if input["properties"] == nil { // OpenAI's API refuses a whole request over a schema without
		input["properties"] = json.RawMessage("{}")
		if t.RawInputSchema, err = json.Marshal(input); err != nil {
			panic(err)
		}
	}
	return schemas{Input: t.RawInputSchema, Output: output}
}

func TestSchemasAreThoseOfTheTypes(t *testing.T) {
	made, err := json.MarshalIndent(map[string]schemas{
		"send_file":       schemasOf[SendFileArgs, sender.Report](),
		"send_files":      schemasOf[SendFilesArgs, sender.Report](),
		"send_attachment": schemasOf[SendAttachmentArgs, sender.Report](),
		"send_message":    schemasOf[SendMessageArgs, sender.Report](),
		"delivery_status": schemasOf[DeliveryStatusArgs, sender.Report](),
		"chat_info":       schemasOf[ChatInfoArgs, sender.Info](),
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

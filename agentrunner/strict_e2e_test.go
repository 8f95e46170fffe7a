//go:build e2e

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/agentrunner/agent/modeltest"
	"github.com/longshore-bridge/longshore/agentrunner/internal/fakehost"
	"github.com/longshore-bridge/longshore/ipc"
)

// TestStrictClientTakesEverySchemaAndEveryAnswer has the protocol's own SDK for
// TypeScript, which throws where an answer breaks its tool's schema, list the
// tools and call each, well and badly.
func TestStrictClientTakesEverySchemaAndEveryAnswer(t *testing.T) {
	sdk := modeltest.Install(t, "mcp-sdk")
	h := fakehost.New(t, func(r fakehost.Request) []ipc.Result {
		part := ipc.Outcome{Name: "a.txt", Kind: "document", Size: 1, SHA256: "00", Status: ipc.Sent, MessageID: "m-1", Note: "as it is"}
		result := ipc.Result{Status: ipc.Sent, Chat: "web:family", Channel: "web", MessageID: "m-1", Parts: []ipc.Outcome{part}}
		switch r.Text {
		case "refused":
			return []ipc.Result{{Status: ipc.Refused, Code: "chat_not_allowed", Message: "no", Hint: "leave it out"}}
		case "failed":
			return []ipc.Result{{Status: ipc.Queued, Progress: &ipc.Progress{Sent: 1, Total: 2}}, {Status: ipc.Failed, Code: "x", Message: "no"}}
		}
		if r.Type.IsCall() {
			return fakehost.Done(r)
		}
		return []ipc.Result{result}
	})
	h.Tell(fakehost.AbleContext())
	h.File("group/a.txt", "a")
	type call struct {
		Name string         `json:"name"`
		Args map[string]any `json:"arguments"`
	}
	calls, err := json.Marshal([]call{
		{"chat_info", map[string]any{}}, {"chat_info", map[string]any{"verbose": true}},
		{"send_file", map[string]any{"file_path": "a.txt"}}, {"send_file", map[string]any{"file_path": "none"}},
		{"send_file", map[string]any{"path": "a.txt"}}, {"send_file", map[string]any{"file_path": "/etc/passwd"}},
		{"send_files", map[string]any{"files": []string{"a.txt"}}}, {"send_files", map[string]any{"files": 7}}, {"send_files", map[string]any{}},
		{"send_attachment", map[string]any{"content_base64": "YQ", "file_name": "a.txt"}}, {"send_attachment", map[string]any{"content_base64": "?"}},
		{"send_message", map[string]any{"text": "hello"}}, {"send_message", map[string]any{"text": "refused"}},
		{"send_message", map[string]any{"text": "failed"}}, {"send_message", map[string]any{"text": 7}},
		{"delivery_status", map[string]any{"id": "none-such"}}, {"delivery_status", map[string]any{"id": "../x"}},
		{"react", map[string]any{"message_id": "m-1", "emoji": "👍"}}, {"react", map[string]any{"emoji": "👍"}},
		{"edit_message", map[string]any{"message_id": "m-1", "text": "new"}}, {"unsend", map[string]any{"message_id": "m-1"}},
		{"ask", map[string]any{"question": "Which?", "choices": []string{"a", "b"}, "wait_seconds": 1}}, {"ask", map[string]any{"question": "Which?", "choices": []string{"a"}}},
		{"schedule_task", map[string]any{"prompt": "p", "schedule_type": "cron", "schedule_value": "0 9 * * *"}},
		{"schedule_task", map[string]any{"prompt": "p", "schedule_type": "daily", "schedule_value": "9"}},
		{"list_tasks", map[string]any{}}, {"update_task", map[string]any{"task_id": "t-1", "prompt": "q"}}, {"pause_task", map[string]any{"task_id": "t-1"}},
		{"resume_task", map[string]any{"task_id": "t-1"}}, {"cancel_task", map[string]any{"task_id": "t-1"}}, {"cancel_task", map[string]any{"task_id": 7}},
		{"register_group", map[string]any{"jid": "web:new", "name": "New", "folder": "new", "trigger": "@Andy"}},
		{"list_messages", map[string]any{"limit": 5}}, {"fetch_file", map[string]any{"message_id": "m-1", "number": 2}},
		{"send_as_pdf", map[string]any{}}, {"send_as_pdf", map[string]any{"file_path": "a.doc"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// A module's imports are looked for beside it and above.
	if err := os.Symlink(filepath.Join(filepath.Dir(sdk), "../.."), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("testdata/strict.mjs")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "strict.mjs"), script, 0o644); err != nil {
		t.Fatal(err)
	}
	linked := filepath.Join(dir, "agentrunner")
	if out, err := exec.Command("go", "build", "-ldflags", "-X main.version=v9.8.7", "-o", linked, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	target := command(t, h)
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "strict.mjs"), linked, "mcp")
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.Stdin = target.Dir, target.Env, os.Stderr, strings.NewReader(string(calls))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if lines[0] != "version v9.8.7" || len(lines) != 37 {
		t.Errorf("%d lines, the first is %q", len(lines), lines[0])
	}
	for _, line := range lines {
		if strings.HasPrefix(line, "bad ") {
			t.Error(line)
		}
	}
}

package tools_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/longshore-bridge/longshore/agentrunner/internal/fakehost"
	"github.com/longshore-bridge/longshore/ipc"
)

// able is a host whose chat has everything.
func able(t *testing.T, answer func(fakehost.Request) []ipc.Result) *fakehost.Host {
	h := fakehost.New(t, answer)
	h.Tell(fakehost.AbleContext())
	return h
}

func list(t *testing.T, c *client.Client) []mcp.Tool {
	t.Helper()
	result, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return result.Tools
}

func names(all []mcp.Tool) (names []string) {
	for _, t := range all {
		names = append(names, t.Name)
	}
	return names
}

func TestToolsThatTheChatDoesNotHaveAreNotListed(t *testing.T) {
	six := []string{"send_file", "chat_info", "delivery_status", "send_attachment", "send_files", "send_message"}
	for _, test := range []struct {
		name string
		can  []string
		more []string
	}{
		{"an older host", nil, nil},
		{"reactions", []string{"react"}, []string{"react", "send_as_pdf"}},
		{"schedules", []string{"schedule"}, []string{"cancel_task", "list_tasks", "pause_task", "resume_task", "schedule_task", "send_as_pdf", "update_task"}},
		{"history", []string{"history"}, []string{"fetch_file", "list_messages", "send_as_pdf"}},
		{"a word of a newer host", []string{"dance"}, []string{"send_as_pdf"}},
	} {
		h := fakehost.New(t, nil)
		context := fakehost.Context()
		context.Can = test.can
		h.Tell(context)
		got := names(list(t, connect(t, h, false)))
		want := slices.Concat(six, test.more)
		slices.Sort(want[1:])
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	if all := names(list(t, connect(t, able(t, nil), true))); len(all) != 20 || all[0] != "send_file" {
		t.Errorf("a chat that has everything: %q", all)
	}
}

func TestAnnotationsSayWhatIsLost(t *testing.T) {
	type hints struct{ reads, destroys, repeats bool }
	want := map[string]hints{
		"chat_info": {true, false, false}, "delivery_status": {true, false, false}, "list_tasks": {true, false, false}, "list_messages": {true, false, false},
		"unsend": {false, true, true}, "cancel_task": {false, true, true}, "update_task": {false, true, true},
		"react": {false, false, true}, "edit_message": {false, false, true}, "pause_task": {false, false, true},
		"resume_task": {false, false, true}, "fetch_file": {false, false, true},
	}
	is := func(b *bool) bool { return b != nil && *b }
	for _, tool := range list(t, connect(t, able(t, nil), true)) {
		a := tool.Annotations
		got := hints{is(a.ReadOnlyHint), is(a.DestructiveHint), is(a.IdempotentHint)}
		if got != want[tool.Name] || a.Title == "" {
			t.Errorf("%s: %+v", tool.Name, got)
		}
		if a.DestructiveHint == nil && !got.reads { // MCP then assumes that it destroys
			t.Errorf("%s does not say whether it destroys something", tool.Name)
		}
	}
}

func TestEachToolAsksTheHostForWhatItSays(t *testing.T) {
	h := able(t, fakehost.Done)
	c := connect(t, h, true)
	for _, test := range []struct {
		tool      string
		arguments map[string]any
		want      ipc.Request
		text      string
	}{
		{"react", map[string]any{"message_id": "m-1", "emoji": "👍"}, ipc.Request{Type: ipc.TypeReact, Target: "m-1", Emoji: "👍"}, "the reaction"},
		{"react", map[string]any{"message_id": "m-1", "emoji": ""}, ipc.Request{Type: ipc.TypeReact, Target: "m-1"}, "the reaction"},
		{"edit_message", map[string]any{"message_id": "m-1", "text": "half"}, ipc.Request{Type: ipc.TypeEdit, Target: "m-1", Text: "half"}, "its new text"},
		{"unsend", map[string]any{"message_id": "m-1", "chat": "web:work"}, ipc.Request{Type: ipc.TypeUnsend, Target: "m-1", Chat: "web:work"}, "gone for everybody"},
		{"schedule_task", map[string]any{"prompt": "p", "schedule_type": "cron", "schedule_value": "0 9 * * *", "context_mode": "isolated", "name": "n", "target_group_jid": "web:work"},
			ipc.Request{Type: ipc.TypeScheduleTask, Prompt: "p", ScheduleType: "cron", ScheduleValue: "0 9 * * *", ContextMode: "isolated", Name: "n", TargetJID: "web:work"}, "All is well.\nTwice."},
		{"list_tasks", nil, ipc.Request{Type: ipc.TypeListTasks}, "All is well."},
		{"update_task", map[string]any{"task_id": "t-1", "schedule_type": "interval", "schedule_value": "60000"},
			ipc.Request{Type: ipc.TypeUpdateTask, TaskID: "t-1", ScheduleType: "interval", ScheduleValue: "60000"}, "All is well."},
		{"update_task", map[string]any{"task_id": "t-1", "schedule_type": "once", "schedule_value": "2030-01-01T09:00", "timezone": "Europe/Berlin"},
			ipc.Request{Type: ipc.TypeUpdateTask, TaskID: "t-1", ScheduleType: "once", ScheduleValue: "CRON_TZ=Europe/Berlin 2030-01-01T09:00"}, "All is well."},
		{"pause_task", map[string]any{"task_id": "t-1"}, ipc.Request{Type: ipc.TypePauseTask, TaskID: "t-1"}, "All is well."},
		{"resume_task", map[string]any{"task_id": "t-1"}, ipc.Request{Type: ipc.TypeResumeTask, TaskID: "t-1"}, "All is well."},
		{"cancel_task", map[string]any{"task_id": "t-1"}, ipc.Request{Type: ipc.TypeCancelTask, TaskID: "t-1"}, "All is well."},
		{"register_group", map[string]any{"jid": "1@g.us", "name": "Work", "folder": "work", "trigger": "@Andy"},
			ipc.Request{Type: ipc.TypeRegisterGroup, JID: "1@g.us", Name: "Work", NewFolder: "work", Trigger: "@Andy"}, "All is well."},
		{"list_messages", map[string]any{"limit": 5, "before": "m-9"}, ipc.Request{Type: ipc.TypeListMessages, Limit: 5, Before: "m-9"}, "All is well."},
		{"fetch_file", map[string]any{"message_id": "m-1", "number": 2}, ipc.Request{Type: ipc.TypeFetchFile, Target: "m-1", Number: 2}, "All is well."},
	} {
		text, fields, bad := call(t, c, test.tool, test.arguments)
		if bad || !strings.Contains(text, test.text) || fields["summary"] != text {
			t.Errorf("%s: %q, error %v, %v", test.tool, text, bad, fields)
			continue
		}
		r := h.Next()
		if test.want.Chat == "" {
			test.want.Chat = "web:family"
		}
		test.want.Folder = "family"
		if diff := cmp.Diff(test.want, r.Request, cmpopts.IgnoreFields(ipc.Request{}, "Time")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.tool, diff)
		}
		if r.Type == ipc.TypeScheduleTask && !strings.Contains(text, "t-1") { // CLIs show a model the words or the data
			t.Errorf("%s: the words do not name the task: %q", test.tool, text)
		}
		if r.Type.IsCall() && fields["data"].(map[string]any)["task"] == nil {
			t.Errorf("%s: the host's answer is not in %v", test.tool, fields)
		}
	}
}

func TestToolThatTheChatDoesNotHaveSaysWhy(t *testing.T) {
	h := fakehost.New(t, nil)
	c := connect(t, h, true)
	for _, host := range []string{"older", "newer"} {
		for tool, arguments := range map[string]map[string]any{
			"react": {"message_id": "m-1", "emoji": "👍"}, "unsend": {"message_id": "m-1"}, "list_tasks": {}, "list_messages": {},
			"ask": {"question": "Which?", "choices": []string{"a", "b"}}, "fetch_file": {"message_id": "m-1"},
		} {
			text, fields, bad := call(t, c, tool, arguments)
			if !bad || fields["code"] != "not_supported" || !strings.Contains(text, "chat_info") {
				t.Errorf("%s, %s host: %q %v", tool, host, text, fields)
			}
		}
		context := fakehost.Context()
		context.Can = []string{"edit"}
		h.Tell(context)
	}
	if pending := h.Pending(); len(pending) > 0 {
		t.Errorf("queued nevertheless: %q", pending)
	}
}

func TestWrongArgumentsOfActionsAreExplained(t *testing.T) {
	h := able(t, nil)
	c := connect(t, h, false)
	for name, test := range map[string]struct {
		tool      string
		arguments map[string]any
		want      string
	}{
		"another name":   {"react", map[string]any{"id": "m-1", "emoji": "x"}, `did you mean "message_id"?`},
		"of a task":      {"cancel_task", map[string]any{"id": "t-1"}, `did you mean "task_id"?`},
		"options":        {"ask", map[string]any{"question": "q", "options": []string{"a", "b"}}, `did you mean "choices"?`},
		"blank id":       {"unsend", map[string]any{"message_id": " "}, "the message is not named"},
		"blank text":     {"edit_message", map[string]any{"message_id": "m-1", "text": " "}, "use unsend"},
		"text as number": {"ask", map[string]any{"question": "q", "choices": []string{"a", "b"}, "wait_seconds": "long"}, "wait_seconds must be a whole number, not a string"},
		"text as truth":  {"ask", map[string]any{"question": "q", "choices": []string{"a", "b"}, "several": "yes"}, "several must be true or false"},
		"one choice":     {"ask", map[string]any{"question": "q", "choices": []string{"a"}}, "2 to 12 choices"},
		"below zero":     {"ask", map[string]any{"question": "q", "choices": []string{"a", "b"}, "wait_seconds": -1}, "below zero"},
		"zone alone":     {"update_task", map[string]any{"task_id": "t", "timezone": "Europe/Berlin"}, "timezone is no time zone"},
		"schedule type":  {"schedule_task", map[string]any{"prompt": "p", "schedule_type": "daily", "schedule_value": "9"}, "use cron, interval or once"},
		"two sources":    {"send_as_pdf", map[string]any{"text": "a", "file_path": "a.md"}, "either file_path or text"},
		"no source":      {"send_as_pdf", map[string]any{}, "either file_path or text"},
		"another format": {"send_as_pdf", map[string]any{"file_path": "a.docx"}, "neither Markdown"},
		"foreign file":   {"send_as_pdf", map[string]any{"file_path": "/etc/hostname.md"}, "/workspace/group"},
	} {
		text, fields, bad := call(t, c, test.tool, test.arguments)
		if !bad || !strings.Contains(strings.ToLower(text), strings.ToLower(test.want)) || fields["code"] == "internal" {
			t.Errorf("%s: got  %q (error %v)\nwant %q", name, text, bad, test.want)
		}
	}
	if pending := h.Pending(); len(pending) > 0 {
		t.Errorf("queued nevertheless: %q", pending)
	}
}

func TestAskWaitsForTheFirstAnswer(t *testing.T) {
	asked := ipc.Result{Status: ipc.Sent, MessageID: "m-7", Data: json.RawMessage(`{"open": true, "answers": [], "words": "Nobody has answered yet."}`)}
	h := able(t, nil)
	c := connect(t, h, false)
	done := make(chan string, 1)
	go func() {
		text, _, _ := call(t, c, "ask", map[string]any{"question": "Which?", "choices": `["red", "blue"]`, "several": true, "open_seconds": 120})
		done <- text
	}()
	r := h.Next()
	if diff := cmp.Diff(ipc.Request{Type: ipc.TypeAsk, Text: "Which?", Choices: []string{"red", "blue"}, Several: true, Seconds: 120},
		ipc.Request{Type: r.Type, Text: r.Text, Choices: r.Choices, Several: r.Several, Seconds: r.Seconds}); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	h.Write(r.ID, asked)
	h.Take(r.ID)
	select {
	case text := <-done:
		t.Errorf("it does not wait: %q", text)
	case <-time.After(time.Second): // longer than it takes to look once
	}
	seen := asked
	seen.Status = ipc.Read
	h.Write(r.ID, seen)
	answered := seen
	answered.Data = json.RawMessage(`{"open": true, "answers": [{"name": "Ann", "choices": ["red"]}], "words": "Ann: red."}`)
	h.Write(r.ID, answered)
	select {
	case text := <-done:
		if !strings.Contains(text, "Ann: red.") {
			t.Errorf("text %q", text)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not see the answer")
	}
	text, fields, bad := call(t, c, "delivery_status", map[string]any{"id": r.ID})
	if bad || !strings.Contains(text, "Ann: red.") || fields["data"] == nil {
		t.Errorf("later: %q, %v", text, fields)
	}
}

func TestQuestionThatMayNotHaveArrivedSaysSo(t *testing.T) {
	h := able(t, func(fakehost.Request) []ipc.Result {
		return []ipc.Result{{Status: ipc.Uncertain, Data: json.RawMessage(`{"open": false, "answers": [], "words": "Nobody has answered."}`)}}
	})
	text, _, _ := call(t, connect(t, h, false), "ask", map[string]any{"question": "q", "choices": []string{"a", "b"}})
	if !strings.Contains(text, "never said whether the question arrived") {
		t.Errorf("text %q", text)
	}
}

func TestAskDoesNotWaitBeyondItsTime(t *testing.T) {
	h := able(t, func(fakehost.Request) []ipc.Result {
		return []ipc.Result{{Status: ipc.Sent, Data: json.RawMessage(`{"open": true, "words": "Nobody has answered yet."}`)}}
	})
	for _, wait := range []int{0, 1} {
		text, fields, bad := call(t, connect(t, h, false), "ask", map[string]any{"question": "q", "choices": []string{"a", "b"}, "wait_seconds": wait})
		if bad || fields["id"] == "" || !strings.Contains(text, "id: ") {
			t.Errorf("%d s: %q, %v", wait, text, fields)
		}
		h.Next()
	}
}

// program makes a shell script the only program.
func program(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
}

func TestPDFIsSentAsAFile(t *testing.T) {
	h := able(t, fakehost.Sent)
	h.File("group/report.html", "<h1>Report</h1>")
	program(t, "chromium", `for a; do case $a in --print-to-pdf=*) printf '%%PDF-1.4 test' > "${a#*=}";; esac; done`)
	text, _, bad := call(t, connect(t, h, false), "send_as_pdf", map[string]any{"file_path": "/workspace/group/report.html", "caption": "as asked"})
	if bad || !strings.HasPrefix(text, "Sent report.pdf (13 bytes, document)") {
		t.Fatal(text)
	}
	f := h.Next().Files[0]
	if f.Caption != "as asked" || !strings.HasPrefix(f.Path, "/workspace/ipc/files/") || f.Name != "report.pdf" || f.From != "/workspace/group/report.html" ||
		!strings.HasPrefix(f.Source, "/workspace/ipc/files/") || !strings.HasSuffix(f.Source, "report.txt") {
		t.Errorf("file %+v", f)
	}
	if left, _ := filepath.Glob(filepath.Join(h.Root, "*/longshore-pdf-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestPDFWithoutItsProgramsNamesThem(t *testing.T) {
	h := able(t, nil)
	c := connect(t, h, false)
	t.Setenv("PATH", t.TempDir())
	text, fields, bad := call(t, c, "send_as_pdf", map[string]any{"text": "# Report"})
	if !bad || fields["code"] != "no_program" || !strings.Contains(text, "chromium") || !strings.Contains(text, "send_file") {
		t.Errorf("no browser: %q", text)
	}
	program(t, "chromium", "exit 1")
	text, fields, bad = call(t, c, "send_as_pdf", map[string]any{"text": "# Report"})
	if !bad || fields["code"] != "no_program" || !strings.Contains(text, "pandoc") || !strings.Contains(text, "as HTML") {
		t.Errorf("no converter: %q", text)
	}
}

// Strict clients discard an answer that breaks the schema of its tool.
func TestEveryAnswerKeepsToItsSchema(t *testing.T) {
	h := able(t, func(r fakehost.Request) []ipc.Result {
		if r.Text == "refused" {
			return []ipc.Result{{Status: ipc.Refused, Code: "x", Message: "no", Hint: "leave it"}}
		}
		if r.Text == "odd" {
			return []ipc.Result{{Status: ipc.Sent, Data: json.RawMessage(`["no object"]`)}}
		}
		return fakehost.Done(r)
	})
	c := connect(t, h, true)
	h.File("group/a.txt", "a")
	program(t, "chromium", "exit 1")
	good := map[string]map[string]any{
		"send_file": {"file_path": "/workspace/group/a.txt"}, "send_files": {"files": []string{"/workspace/group/a.txt"}},
		"send_attachment": {"content_base64": "YQ==", "file_name": "a.txt"}, "send_message": {"text": "hello"}, "delivery_status": {"id": "none"},
		"send_as_pdf": {"text": "<p>"}, "react": {"message_id": "m-1", "emoji": "x"}, "edit_message": {"message_id": "m-1", "text": "odd"},
		"unsend": {"message_id": "m-1"}, "ask": {"question": "q", "choices": []string{"a", "b"}, "wait_seconds": 0},
		"schedule_task": {"prompt": "p", "schedule_type": "once", "schedule_value": "2030-01-01"}, "update_task": {"task_id": "t"}, "pause_task": {"task_id": "t"},
		"resume_task": {"task_id": "t"}, "cancel_task": {"task_id": "t"}, "register_group": {"jid": "a", "name": "b", "folder": "c", "trigger": "d"},
		"fetch_file": {"message_id": "m"},
	}
	for _, tool := range list(t, c) {
		raw, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		shown, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource("tool.json", shown); err != nil {
			t.Fatal(err)
		}
		input, output := compiler.MustCompile("tool.json#/inputSchema"), compiler.MustCompile("tool.json#/outputSchema")
		for _, arguments := range []map[string]any{good[tool.Name], {"text": "refused", "message_id": "m-1"}, {"nonsense": 7}} {
			text, fields, _ := call(t, c, tool.Name, arguments)
			if err := output.Validate(any(fields)); err != nil {
				t.Errorf("%s %v: %v", tool.Name, arguments, err)
			}
			if text == "" || strings.Contains(text, `\n`) {
				t.Errorf("%s %v: %q", tool.Name, arguments, text)
			}
		}
		b, err := json.Marshal(good[tool.Name])
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if good[tool.Name] == nil {
			value = map[string]any{}
		}
		if err != nil || input.Validate(value) != nil && tool.Name != "send_files" { // which also takes paths
			t.Errorf("%s does not take %s", tool.Name, b)
		}
	}
}

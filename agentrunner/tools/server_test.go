package tools_test

import (
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/agentrunner/internal/fakehost"
	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/agentrunner/tools"
	"github.com/longshore-bridge/longshore/ipc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// connect returns a client in the same process as the server.
func connect(t *testing.T, h *fakehost.Host, main bool) *client.Client {
	t.Helper()
	s := sender.New(sender.Config{IPC: h.IPC, Chat: "web:family", Folder: "family", Main: main, Wait: 2 * time.Minute,
		Mounts: []sender.Mount{{Path: "/workspace/group", Local: filepath.Join(h.Root, "group")}}})
	c, err := client.NewInProcessClient(tools.Server(s, "1.2.3"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Initialize(t.Context(), mcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	return c
}

// call returns the text, the structured result and whether it is an error.
func call(t *testing.T, c *client.Client, tool string, arguments any) (string, map[string]any, bool) {
	t.Helper()
	req := mcp.CallToolRequest{}
	req.Params.Name, req.Params.Arguments = tool, arguments
	result, err := c.CallTool(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Content) != 1 {
		t.Fatalf("%d contents", len(result.Content))
	}
	b, err := json.Marshal(result.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(b, &fields); err != nil {
		t.Fatalf("structured content %s: %v", b, err)
	}
	return result.Content[0].(mcp.TextContent).Text, fields, result.IsError
}

func TestEveryToolIsDescribedForAModel(t *testing.T) {
	want := map[string][]string{
		"chat_info":       nil,
		"delivery_status": {"id"},
		"send_attachment": {"alt", "caption", "chat", "content_base64", "file_name", "mime_type", "reply_to"},
		"send_file":       {"alt", "as", "caption", "chat", "file_name", "file_path", "mime_type", "reply_to"},
		"send_files":      {"chat", "files", "reply_to"},
		"send_message":    {"chat", "reply_to", "text"},
	}
	for _, main := range []bool{true, false} {
		list, err := connect(t, fakehost.New(t, nil), main).ListTools(t.Context(), mcp.ListToolsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		got, told := map[string][]string{}, map[string]bool{}
		for _, tool := range list.Tools {
			b, err := json.Marshal(tool)
			if err != nil {
				t.Fatal(err)
			}
			var shown struct {
				Description string
				Meta        map[string]any `json:"_meta"`
				InputSchema struct {
					Properties map[string]struct{ Description string }
				}
				OutputSchema struct{ Properties map[string]any }
			}
			if err := json.Unmarshal(b, &shown); err != nil {
				t.Fatal(err)
			}
			if tool.Name == "send_file" { // is first in the list, and says that the others' parameters are its own
				for name, property := range shown.InputSchema.Properties {
					told[name] = told[name] || property.Description != ""
				}
			}
			var names []string
			for name, property := range shown.InputSchema.Properties {
				names = append(names, name)
				if property.Description == "" && !told[name] {
					t.Errorf("%s: %s is not described", tool.Name, name)
				}
			}
			slices.Sort(names)
			got[tool.Name] = names
			if shown.Meta["anthropic/alwaysLoad"] != true {
				t.Errorf("%s: would be hidden behind a search: _meta %v", tool.Name, shown.Meta)
			}
			if len(shown.Description) < 200 || shown.OutputSchema.Properties["summary"] == nil {
				t.Errorf("%s: too little is said of it: %s", tool.Name, b)
			}
		}
		expected := map[string][]string{}
		for name, properties := range want {
			expected[name] = slices.DeleteFunc(slices.Clone(properties), func(p string) bool { return !main && p == "chat" })
			if len(expected[name]) == 0 {
				expected[name] = nil
			}
		}
		if diff := cmp.Diff(expected, got); diff != "" {
			t.Errorf("tools, main group %v (-want +got):\n%s", main, diff)
		}
	}
}

func TestTextAndStructureEachSayEverything(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	c := connect(t, h, false)
	text, fields, bad := call(t, c, "send_file", map[string]any{"file_path": h.File("group/a.pdf", "%PDF"), "caption": "look", "as": nil})
	r := h.Next()
	if bad || !strings.HasPrefix(text, "Sent a.pdf (4 bytes, document) to the chat. Message id m-") {
		t.Errorf("text %q, error %v", text, bad)
	}
	if fields["summary"] != text || fields["status"] != "sent" || fields["id"] != r.ID || fields["message_id"] == nil {
		t.Errorf("structure %v", fields)
	}
	if r.Files[0].Caption != "look" {
		t.Errorf("request %+v", r)
	}
}

func TestSeveralFilesGoInOneRequest(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	c := connect(t, h, false)
	a, b := h.File("group/a.pdf", "%PDF"), h.File("group/b.png", "\x89PNG")
	text, _, bad := call(t, c, "send_files", map[string]any{"files": []any{
		map[string]any{"file_path": a, "caption": "first"}, map[string]any{"file_path": b, "as": "document", "file_name": "chart.png"}}})
	want := []ipc.FileRef{{Path: "/workspace/group/a.pdf", Name: "a.pdf", Caption: "first"},
		{Path: "/workspace/group/b.png", Name: "chart.png", As: "document"}}
	if diff := cmp.Diff(want, h.Next().Files); diff != "" || bad {
		t.Errorf("files (-want +got):\n%s%s", diff, text)
	}
}

func TestListOfFilesIsTakenAsModelsWriteIt(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	c := connect(t, h, false)
	h.File("group/a.txt", "a")
	h.File("group/[b].txt", "b")
	const a, b = "/workspace/group/a.txt", "/workspace/group/[b].txt"
	for name, test := range map[string]struct {
		files any
		want  []string
	}{
		"paths":                     {[]string{a, b}, []string{a, b}},
		"a path and an object":      {[]any{a, map[string]any{"file_path": b, "as": "document"}}, []string{a, b}},
		"JSON text of paths":        {`["` + a + `", "` + b + `"]`, []string{a, b}},
		"JSON text of objects":      {`[{"file_path": "` + a + `"}]`, []string{a}},
		"one path":                  {b, []string{b}},
		"objects, as schema has it": {[]any{map[string]any{"file_path": a}}, []string{a}},
	} {
		text, _, bad := call(t, c, "send_files", map[string]any{"files": test.files})
		if bad {
			t.Errorf("%s: %s", name, text)
			continue
		}
		var got []string
		for _, f := range h.Next().Files {
			got = append(got, f.Path)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestContentAndTextAreSent(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	c := connect(t, h, false)
	text, _, bad := call(t, c, "send_attachment", map[string]any{"file_name": "a.pdf",
		"content_base64": base64.StdEncoding.EncodeToString([]byte("%PDF-1.4"))})
	if r := h.Next(); bad || r.Type != ipc.TypeFile || r.Files[0].Name != "a.pdf" {
		t.Errorf("attachment: %q, request %+v", text, r)
	}
	text, _, bad = call(t, c, "send_message", map[string]any{"text": "hello", "reply_to": "m-1"})
	if r := h.Next(); bad || r.Text != "hello" || r.ReplyTo != "m-1" || !strings.HasPrefix(text, "Sent the text to the chat.") {
		t.Errorf("message: %q, request %+v", text, r)
	}
}

func TestMainGroupMayNameAChat(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	if text, _, bad := call(t, connect(t, h, true), "send_message", map[string]any{"text": "hello", "chat": "web:work"}); bad {
		t.Error(text)
	}
	if r := h.Next(); r.Chat != "web:work" {
		t.Errorf("went to %q", r.Chat)
	}
	text, _, bad := call(t, connect(t, h, false), "send_message", map[string]any{"text": "hello", "chat": "web:work"})
	if !bad || !strings.Contains(text, "its own chat only") {
		t.Errorf("another group: %q", text)
	}
}

// A group that may send to one other chat had no parameter to name it with.
func TestAGroupWithAListMayNameAChat(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	c := fakehost.Context()
	c.Chats = []ipc.ChatInfo{{Chat: "web:family", Name: "Family"}, {Chat: "web:work", Name: "Work"}}
	h.Tell(c)
	if text, _, bad := call(t, connect(t, h, false), "send_message", map[string]any{"text": "hello", "chat": "web:work"}); bad {
		t.Error(text)
	}
	if r := h.Next(); r.Chat != "web:work" {
		t.Errorf("went to %q", r.Chat)
	}
}

func TestWrongArgumentsAreExplained(t *testing.T) {
	h := fakehost.New(t, nil)
	c := connect(t, h, false)
	for name, test := range map[string]struct {
		tool      string
		arguments any
		want      string
	}{
		"another name":         {"send_file", map[string]any{"path": "a"}, `send_file has no parameter "path"; did you mean "file_path"? Correct the arguments and call send_file again.`},
		"unknown name":         {"send_message", map[string]any{"text": "a", "loud": true}, `send_message has no parameter "loud"; it has reply_to, text.`},
		"nothing":              {"send_file", nil, "send_file needs file_path."},
		"null":                 {"send_file", map[string]any{"file_path": nil}, "send_file needs file_path."},
		"two missing":          {"send_attachment", map[string]any{}, "send_attachment needs content_base64 and file_name."},
		"number":               {"send_file", map[string]any{"file_path": 7}, "file_path must be a string, not a number."},
		"list":                 {"send_message", map[string]any{"text": []string{"a"}}, "text must be a string, not a list."},
		"numbers, not objects": {"send_files", map[string]any{"files": []int{7}}, "must be an object, not a number."},
		"name in a list":       {"send_files", map[string]any{"files": []any{map[string]any{"path": "a"}}}, `a file has no field "path"`},
		"no files":             {"send_files", map[string]any{"files": []any{}}, "Give the path of at least one file."},
		"style":                {"send_file", map[string]any{"file_path": "a", "as": "photo"}, "it is one of auto, document, voice, gif, sticker, original."},
		"not an object":        {"send_file", []any{"a"}, "must be one JSON object"},
		"of no parameters":     {"chat_info", map[string]any{"verbose": true}, "chat_info has no parameters"},
		"no such id":           {"delivery_status", map[string]any{"id": "../x"}, "not a request id"},
	} {
		t.Run(name, func(t *testing.T) {
			text, fields, bad := call(t, c, test.tool, test.arguments)
			if !bad || !strings.Contains(strings.ToLower(text), strings.ToLower(test.want)) {
				t.Errorf("got  %q (error %v)\nwant %q", text, bad, test.want)
			}
			if fields["summary"] != text || fields["code"] == "internal" {
				t.Errorf("structure %v", fields)
			}
		})
	}
	if pending := h.Pending(); len(pending) > 0 {
		t.Errorf("queued nevertheless: %q", pending)
	}
}

func TestHostsRefusalReachesTheModel(t *testing.T) {
	h := fakehost.New(t, func(fakehost.Request) []ipc.Result {
		return []ipc.Result{{Status: ipc.Refused, Code: "chat_not_allowed", Message: "that chat is another group's", Hint: "leave chat out"}}
	})
	c := connect(t, h, false)
	text, fields, bad := call(t, c, "send_message", map[string]any{"text": "hello"})
	if !bad || !strings.Contains(text, "that chat is another group's. Leave chat out.") || fields["code"] != "chat_not_allowed" {
		t.Errorf("text %q, structure %v", text, fields)
	}
	text, _, bad = call(t, c, "delivery_status", map[string]any{"id": fields["id"]})
	if bad || !strings.HasPrefix(text, "Not sent: ") {
		t.Errorf("asked for it: %q, error %v", text, bad)
	}
}

func TestProgressIsToldWhileBytesAreOnTheirWay(t *testing.T) {
	h := fakehost.New(t, nil)
	c := connect(t, h, false)
	told := make(chan map[string]any, 10)
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		if n.Method == "notifications/progress" {
			told <- n.Params.AdditionalFields
		}
	})
	req := mcp.CallToolRequest{}
	req.Params.Name, req.Params.Arguments = "send_file", map[string]any{"file_path": h.File("group/a.pdf", "%PDF")}
	req.Params.Meta = &mcp.Meta{ProgressToken: "token-7"}
	done := make(chan error, 1)
	go func() {
		_, err := c.CallTool(t.Context(), req)
		done <- err
	}()
	r := h.Next()
	h.Write(r.ID, ipc.Result{Status: ipc.Queued, Progress: &ipc.Progress{Sent: 1000, Total: 4000}})
	h.Take(r.ID)
	select {
	case fields := <-told:
		if fields["progressToken"] != "token-7" || fields["message"] != "1,000 bytes of 3.9 KiB" {
			t.Errorf("progress %v", fields)
		}
	case <-time.After(time.Minute):
		t.Fatal("no progress was told")
	}
	h.Write(r.ID, ipc.Result{Status: ipc.Sent})
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestChatInfoAnswersWhetherItWorks(t *testing.T) {
	text, fields, bad := call(t, connect(t, fakehost.New(t, nil), false), "chat_info", nil)
	if bad || !strings.HasPrefix(text, "Working: ") || fields["connected"] != true || fields["tool_version"] != "1.2.3" {
		t.Errorf("text %q, structure %v", text, fields)
	}
}

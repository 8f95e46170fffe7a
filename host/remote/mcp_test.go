package remote

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/agentrunner/tools"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/ipc"
)

// bearerOf shows a token with each request.
type bearerOf struct {
	token string
	t     *http.Transport
}

func (b bearerOf) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.t.RoundTrip(r)
}

// dial joins the go-sdk's client, which nobody here wrote, to the server. told get the progress.
func (w *world) dial(token string, told ...chan<- *mcp.ProgressNotificationParams) *mcp.ClientSession {
	w.t.Helper()
	transport := &http.Transport{}
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			for _, to := range told {
				to <- r.Params
			}
		}})
	session, err := c.Connect(w.t.Context(), &mcp.StreamableClientTransport{Endpoint: w.url + mcpPath, HTTPClient: &http.Client{Transport: bearerOf{token, transport}}, DisableStandaloneSSE: true}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = session.Close(); transport.CloseIdleConnections() })
	return session
}

// use calls a tool and returns its text and its report.
func (w *world) use(s *mcp.ClientSession, tool string, args map[string]any) (text string, r sender.Report, failed bool) {
	w.t.Helper()
	result, err := s.CallTool(w.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		w.t.Fatal(tool, err)
	}
	b, err := json.Marshal(result.StructuredContent)
	if err != nil || json.Unmarshal(b, &r) != nil {
		w.t.Fatal(tool, err, string(b))
	}
	return result.Content[0].(*mcp.TextContent).Text, r, result.IsError
}

// able lets the chats have everything.
func able(o *Options) {
	o.Chats = chatsFunc(func(g groups.Group) ipc.Context {
		c := chatOf(g)
		c.Can = []string{"react", "edit", "unsend", "ask", "schedule", "history"}
		return c
	})
}

// TestTheToolsAreThoseOfStdio: names, texts and schemas, but those that need programs or
// directories beside the assistant.
func TestTheToolsAreThoseOfStdio(t *testing.T) {
	w := newWorld(t, able)
	stdio := map[string]string{}
	for name, tool := range tools.Server(sender.Over(sender.Config{}, &inside{Server: w.Server}, sender.FilesHosts), "v").ListTools() {
		b, err := json.Marshal(tool.Tool)
		if err != nil {
			t.Fatal(err)
		}
		stdio[name] = string(b)
	}
	for folder, lacking := range map[string][]string{"a": {"register_group", "send_as_pdf"}, "b": {"fetch_file", "register_group", "send_as_pdf"}} {
		got := w.ask("POST", mcpPath, w.token(folder, ""), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), "Content-Type", "application/json", "Accept", "application/json, text/event-stream")
		var list struct {
			Result struct{ Tools []json.RawMessage }
		}
		if err := json.Unmarshal([]byte(got.body), &list); err != nil {
			t.Fatal(err, got.body)
		}
		seen := map[string]bool{}
		for _, raw := range list.Result.Tools {
			var tool struct{ Name string }
			_ = json.Unmarshal(raw, &tool)
			seen[tool.Name] = true
			if diff := cmp.Diff(asMap(t, stdio[tool.Name]), asMap(t, string(raw))); diff != "" {
				t.Errorf("%s (-stdio +http):\n%s", tool.Name, diff)
			}
		}
		var missing []string
		for name := range stdio {
			if !seen[name] {
				missing = append(missing, name)
			}
		}
		if diff := cmp.Diff(lacking, slices.Sorted(slices.Values(missing))); diff != "" {
			t.Errorf("%s lacks (-want +got):\n%s", folder, diff)
		}
	}
}

// TestAFileIsSentByMCP, from the container's directory, in the call, or as an upload: one
// delivery each, in the token's thread.
func TestAFileIsSentByMCP(t *testing.T) {
	w := newWorld(t)
	a, b := w.dial(w.token("a", "t1")), w.token("b", "")
	if text, r, failed := w.use(a, "send_file", map[string]any{"file_path": "report.pdf", "caption": "look"}); failed || r.Status != "sent" || !strings.HasPrefix(text, "Sent report.pdf") {
		t.Errorf("%s %+v", text, r)
	}
	far := w.dial(b)
	content := strings.Repeat("large ", 100_000)
	if text, r, failed := w.use(far, "send_attachment", map[string]any{"content_base64": base64.StdEncoding.EncodeToString([]byte(content)), "file_name": "a.txt"}); failed || r.Status != "sent" {
		t.Errorf("%s %+v", text, r)
	}
	w.put(b, "one", "1", 0)
	_, r, failed := w.use(far, "send_file", map[string]any{"file_path": "upload:one", "file_name": "one.txt"})
	if failed || r.Status != "sent" {
		t.Errorf("%+v", r)
	}
	if text, _, failed := w.use(far, "delivery_status", map[string]any{"id": r.ID}); failed || !strings.HasPrefix(text, "Sent it to the chat.") {
		t.Errorf("status: %s", text)
	}
	all := w.all()
	if len(all) != 3 {
		t.Fatalf("%d were sent", len(all))
	}
	if f := all[0].it.Request; f.Files[0].Path != "/workspace/group/report.pdf" || f.Thread != "t1" || f.Turn != ipc.NoTurn {
		t.Errorf("%+v", f)
	}
	if all[1].content != content || all[2].content != "1" {
		t.Error("other bytes than were given")
	}
}

// TestToolsKeyMakesARepeatedCallOneDelivery, also with a new token, and refuses the key with
// another content. A call without a key is a delivery of its own.
func TestToolsKeyMakesARepeatedCallOneDelivery(t *testing.T) {
	w := newWorld(t)
	args := func(content, key string) map[string]any {
		a := map[string]any{"content_base64": base64.StdEncoding.EncodeToString([]byte(content)), "file_name": "a.txt"}
		if key != "" {
			a["idempotency_key"] = key
		}
		return a
	}
	s := w.dial(w.token("b", ""))
	_, first, _ := w.use(s, "send_attachment", args("a", "k"))
	_, again, failed := w.use(w.dial(w.token("b", "")), "send_attachment", args("a", "k"))
	if failed || again.ID != first.ID || first.Status != "sent" {
		t.Errorf("%+v, then %+v", first, again)
	}
	if text, other, failed := w.use(s, "send_attachment", args("b", "k")); !failed || other.Code != "key_conflict" {
		t.Errorf("another content: %s %+v", text, other)
	}
	if text, odd, failed := w.use(s, "send_attachment", args("a", "k\n")); !failed || odd.Code != "wrong_value" {
		t.Errorf("an odd key: %s %+v", text, odd)
	}
	if _, r, failed := w.use(s, "send_message", map[string]any{"text": "x", "idempotency_key": "k2"}); failed || r.Status != "sent" {
		t.Errorf("%+v", r)
	}
	if all := w.all(); len(all) != 2 {
		t.Errorf("%d were sent", len(all))
	}
	w.use(s, "send_attachment", args("a", ""))
	w.use(s, "send_attachment", args("a", ""))
	if all := w.all(); len(all) != 4 {
		t.Errorf("%d were sent, two of them without a key", len(all))
	}
}

// TestMCPRefusesInWords: the model reads what to do, and no path of the host's.
func TestMCPRefusesInWords(t *testing.T) {
	w := newWorld(t)
	a, b := w.dial(w.token("a", "")), w.dial(w.token("b", ""))
	mine := w.order(w.token("a", ""), "", ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: "/workspace/group/a"}}})
	for name, tt := range map[string]struct {
		session *mcp.ClientSession
		tool    string
		args    map[string]any
		code    string
	}{
		"no directory":      {b, "send_file", map[string]any{"file_path": "/workspace/group/a"}, "not_shared"},
		"no such upload":    {b, "send_file", map[string]any{"file_path": "upload:x", "file_name": "a"}, "unknown_upload"},
		"the road":          {a, "send_file", map[string]any{"file_path": "a", "caption": "no"}, "screened"},
		"no PDF":            {a, "send_as_pdf", map[string]any{"text": "x"}, "not_supported"},
		"another thread":    {a, "send_message", map[string]any{"text": "x", "thread": "t"}, "invalid_argument"},
		"another's id":      {b, "delivery_status", map[string]any{"id": mine.ID}, ipc.CodeUnknown},
		"an empty path":     {a, "send_file", map[string]any{"file_path": " "}, "invalid_argument"},
		"an odd attachment": {b, "send_attachment", map[string]any{"content_base64": "!", "file_name": "a"}, "invalid_argument"},
	} {
		text, r, failed := w.use(tt.session, tt.tool, tt.args)
		if !failed || r.Code != tt.code || text == "" || strings.Contains(text, w.dir) {
			t.Errorf("%s: %s %+v", name, text, r)
		}
	}
}

// TestMCPHasTheDoorsBounds before anything is parsed.
func TestMCPHasTheDoorsBounds(t *testing.T) {
	w := newWorld(t)
	token := w.token("b", "")
	call := func(args string) io.Reader {
		return strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send_message","arguments":` + args + `}}`)
	}
	long := strings.Repeat("x", maxFields)
	for name, tt := range map[string]struct {
		got  answered
		http int
		code string
	}{
		"no token":             {w.ask("POST", mcpPath, "", call(`{"text":"x"}`)), 401, "no_token"},
		"a wrong token":        {w.ask("POST", mcpPath, token+"x", call(`{"text":"x"}`)), 401, "no_token"},
		"an origin":            {w.ask("POST", mcpPath, token, call(`{"text":"x"}`), "Origin", "http://localhost"), 403, "cross_site"},
		"another host":         {w.ask("POST", mcpPath, token, call(`{"text":"x"}`), "Host", "evil.example"), 421, "unknown_host"},
		"a long text":          {w.ask("POST", mcpPath, token, call(`{"text":"`+long+`"}`), "Content-Type", "application/json"), 413, ipc.CodeTooLarge},
		"a long something":     {w.ask("POST", mcpPath, token, call(`{"content_base64":"eA==","x":"`+long+`"}`), "Content-Type", "application/json"), 413, ipc.CodeTooLarge},
		"more than any file":   {w.ask("POST", mcpPath, token, bytes.NewReader(make([]byte, maxFields+maxBuffer/3*4+5))), 413, ipc.CodeTooLarge},
		"a stream":             {w.ask("GET", mcpPath, token, nil, "Accept", "text/event-stream"), 405, "bad_method"},
		"the end of a session": {w.ask("DELETE", mcpPath, token, nil), 405, "bad_method"},
	} {
		if tt.got.http != tt.http || tt.got.Error.Code != tt.code {
			t.Errorf("%s: %d %s", name, tt.got.http, tt.got.body)
		}
	}
	if all := w.all(); len(all) > 0 {
		t.Errorf("%d were sent", len(all))
	}
}

func asMap(t *testing.T, s string) (m map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(s), &m); err != nil {
		t.Fatal(err, s)
	}
	return m
}

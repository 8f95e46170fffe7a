package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/longshore-bridge/longshore/agentrunner/internal/fakehost"
	"github.com/longshore-bridge/longshore/ipc"
)

// program is the path of a program that is this one but for its build.
func program(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("agentrunner") // a copy of the test, which testscript puts there
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// command runs the program in the group's workspace.
func command(t testing.TB, h *fakehost.Host, args ...string) *exec.Cmd {
	cmd := exec.Command(program(t), args...)
	cmd.Dir = filepath.Join(h.Root, "group")
	cmd.Env = append(append(os.Environ(), h.Env()...), "LONGSHORE_WAIT=2m")
	cmd.Stderr = os.Stderr
	return cmd
}

// connect joins the go-sdk's client, which nobody here wrote, to the program.
func connect(t *testing.T, h *fakehost.Host, progress func(*mcp.ProgressNotificationParams)) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			if progress != nil {
				progress(r.Params)
			}
		}})
	session, err := c.Connect(t.Context(), &mcp.CommandTransport{Command: command(t, h, "mcp")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func TestAnotherClientListsAndCallsTheTools(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	session := connect(t, h, nil)
	if !strings.Contains(session.InitializeResult().Instructions, "send_file") {
		t.Errorf("instructions %q", session.InitializeResult().Instructions)
	}
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if diff := cmp.Diff([]string{"send_file", "chat_info", "delivery_status", "send_attachment", "send_files", "send_message"}, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	h.File("group/a.pdf", "%PDF-1.4")
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "send_file", Arguments: map[string]any{"file_path": "a.pdf"}})
	if err != nil {
		t.Fatal(err)
	}
	text := result.Content[0].(*mcp.TextContent).Text
	if result.IsError || !strings.HasPrefix(text, "Sent a.pdf (8 bytes, document) to the chat.") ||
		result.StructuredContent.(map[string]any)["summary"] != text {
		t.Errorf("text %q, structure %v", text, result.StructuredContent)
	}
	if r := h.Next(); r.Files[0].Path != "/workspace/group/a.pdf" {
		t.Errorf("request %+v", r)
	}
}

func TestAnotherClientUsesWhatTheChatHas(t *testing.T) {
	h := fakehost.New(t, fakehost.Done)
	h.Tell(fakehost.AbleContext())
	session := connect(t, h, nil)
	for tool, arguments := range map[string]map[string]any{
		"react": {"message_id": "m-1", "emoji": "👍"}, "edit_message": {"message_id": "m-1", "text": "half"}, "unsend": {"message_id": "m-1"},
		"ask":           {"question": "Which?", "choices": []string{"a", "b"}, "wait_seconds": 0},
		"schedule_task": {"prompt": "p", "schedule_type": "cron", "schedule_value": "0 9 * * *"}, "list_tasks": {}, "cancel_task": {"task_id": "t-1"},
		"list_messages": {}, "fetch_file": {"message_id": "m-1"},
	} {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil || result.IsError {
			t.Errorf("%s: %+v, %v", tool, result, err)
			continue
		}
		if r := h.Next(); r.Chat != "web:family" {
			t.Errorf("%s: request %+v", tool, r)
		}
	}
}

func TestAnotherClientSeesProgressAndCancels(t *testing.T) {
	h := fakehost.New(t, nil)
	told := make(chan *mcp.ProgressNotificationParams, 10)
	session := connect(t, h, func(p *mcp.ProgressNotificationParams) { told <- p })
	path := h.File("group/a.pdf", "%PDF-1.4")
	call := func(ctx context.Context) chan error {
		params := &mcp.CallToolParams{Name: "send_file", Arguments: map[string]any{"file_path": path}}
		params.SetProgressToken("token-7")
		done := make(chan error, 1)
		go func() {
			_, err := session.CallTool(ctx, params)
			done <- err
		}()
		return done
	}
	done := call(t.Context())
	r := h.Next()
	h.Write(r.ID, ipc.Result{Status: ipc.Queued, Progress: &ipc.Progress{Sent: 1024, Total: 4096}})
	h.Take(r.ID)
	select {
	case p := <-told:
		if p.ProgressToken != "token-7" || p.Progress != 1024 || p.Total != 4096 || p.Message != "1 KiB of 4 KiB" {
			t.Errorf("progress %+v", p)
		}
	case <-time.After(time.Minute):
		t.Fatal("no progress was told")
	}
	h.Write(r.ID, ipc.Result{Status: ipc.Sent})
	if err := <-done; err != nil {
		t.Error(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	done = call(ctx)
	r = h.Next()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled call: %v", err)
	}
	waitFor(t, "the cancelled request is withdrawn", func() bool { return len(h.Pending()) == 0 })
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "chat_info"}); err != nil {
		t.Errorf("after a cancel: %v", err)
	}
}

// waitFor looks until it is so; what it looks at tells of no change itself.
func waitFor(t *testing.T, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !so() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("never: " + what)
		}
	}
}

const handshake = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"pipe","version":"1"}}}
`

// A client that writes its call and closes, as a pipe in a shell does, is
// still answered, and its request stays.
func TestEndOfStdinWithACallInFlight(t *testing.T) {
	h := fakehost.New(t, nil)
	cmd := command(t, h, "mcp")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(stdin, handshake, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"send_message","arguments":{"text":"hello"}}}`)
	stdin.Close() // without a newline after the call
	r := h.Next()
	if pending := h.Pending(); len(pending) != 1 || pending[0] != r.ID {
		t.Errorf("in the queue: %q", pending)
	}
	h.Write(r.ID, ipc.Result{Status: ipc.Sent, MessageID: "m-9"})
	h.Take(r.ID)
	var last string
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		last = lines.Text()
	}
	if !strings.Contains(last, `"id":2`) || !strings.Contains(last, "Message id m-9.") {
		t.Errorf("the last line is %s", last)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestTerminationKeepsWhatIsQueued(t *testing.T) {
	h := fakehost.New(t, nil)
	cmd := command(t, h, "mcp")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(stdin, handshake, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"send_message","arguments":{"text":"hello"}}}`+"\n")
	r := h.Next()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if pending := h.Pending(); len(pending) != 1 || pending[0] != r.ID {
		t.Errorf("in the queue: %q", pending)
	}
}

func TestInterruptedCommandTakesItsRequestBack(t *testing.T) {
	h := fakehost.New(t, nil)
	cmd := command(t, h, "message", "hello")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.Next()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != 130 || len(h.Pending()) > 0 {
		t.Errorf("status %d, in the queue %q", status, h.Pending())
	}
}

func TestSampleSendsItsReportThroughTheRealTools(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	cmd := command(t, h, "run", "--agent", "sample")
	start, err := json.Marshal(map[string]any{"chatJid": "web:family", "groupFolder": "family",
		"prompt": "<messages>\n<message sender=\"Ada\" time=\"now\">@Andy send me the report</message>\n</messages>"})
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = strings.NewReader(string(start))
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := h.Next()
	var names []string
	for _, f := range r.Files {
		names = append(names, f.Path)
		if _, err := os.Stat(filepath.Join(h.Root, strings.TrimPrefix(f.Path, "/workspace/"))); err != nil {
			t.Error(err)
		}
		if f.Caption == "" {
			t.Errorf("%s has no caption", f.Path)
		}
	}
	if diff := cmp.Diff([]string{"/workspace/group/harbour-week.pdf", "/workspace/group/harbour-week.png"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "{") {
	}
	if !strings.Contains(lines.Text(), "Here is the report for ") {
		t.Errorf("it says %s", lines.Text())
	}
	h.File("ipc/input/_close", "")
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

package remote

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/push/pushtest"
)

// claudeWire is a transport of another implementation of MCP, whose client knows nothing of
// Claude Code's notifications: they are taken out before, and written past it.
type claudeWire struct {
	mcp.Transport
	conn mcp.Connection
	got  chan *jsonrpc.Request
}

func (w *claudeWire) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := w.Transport.Connect(ctx)
	w.conn = c
	return tapped{c, w.got}, err
}

type tapped struct {
	mcp.Connection
	got chan *jsonrpc.Request
}

func (c tapped) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, err := c.Connection.Read(ctx)
		if r, ok := m.(*jsonrpc.Request); ok && strings.HasPrefix(r.Method, "notifications/claude/") {
			c.got <- r
			continue
		}
		return m, err
	}
}

// codeSession is a session into which agentrunner channel pushes messages.
type codeSession struct {
	*mcp.ClientSession
	t    *testing.T
	wire *claudeWire
}

// runnerOf is agentrunner as a program on another machine, in a directory of its own.
func (r *elsewhere) runnerOf(token string, args ...string) *exec.Cmd {
	r.t.Helper()
	dir := filepath.Join(r.dir, "far")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], append([]string{"agentrunner"}, args...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "LONGSHORE_URL="+r.url, "LONGSHORE_TOKEN="+token, "HOME="+r.dir)
	return cmd
}

func (r *elsewhere) session(token string) codeSession {
	r.t.Helper()
	wire := &claudeWire{Transport: &mcp.CommandTransport{Command: r.runnerOf(token, "channel")}, got: make(chan *jsonrpc.Request, 100)}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(r.t.Context(), wire, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { s.Close() })
	if all, err := s.ListTools(r.t.Context(), nil); err != nil || len(all.Tools) < 10 || all.Tools[0].Name != "send_file" {
		r.t.Fatal(all, err)
	}
	return codeSession{s, r.t, wire}
}

// pushed is the next notification of a method.
func (s codeSession) pushed(method string, into any) {
	s.t.Helper()
	select {
	case r := <-s.wire.got:
		if r.Method != method {
			s.t.Fatalf("notified %s, not %s: %s", r.Method, method, r.Params)
		}
		if err := json.Unmarshal(r.Params, into); err != nil {
			s.t.Fatal(err)
		}
	case <-time.After(stage.Patience):
		s.t.Fatal("nothing is pushed: ", method)
	}
}

type pushedMessage struct {
	Content string
	Meta    map[string]string
}

func (s codeSession) message() (m pushedMessage) {
	s.t.Helper()
	s.pushed("notifications/claude/channel", &m)
	return m
}

func (s codeSession) call(tool string, arguments map[string]any) string {
	s.t.Helper()
	result, err := s.CallTool(s.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil || len(result.Content) != 1 {
		s.t.Fatal(tool, result, err)
	}
	return result.Content[0].(*mcp.TextContent).Text
}

func (s codeSession) notify(method string, params any) {
	s.t.Helper()
	b, err := json.Marshal(params)
	if err == nil {
		err = s.wire.conn.Write(s.t.Context(), &jsonrpc.Request{Method: method, Params: b})
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

const sessions = "{runtime: remote, claude_channel: messages}"

// TestMessagesArePushedIntoASessionUntilItAnswers: by another implementation of MCP. What the
// session was shown and did not end, because it was killed, the next one is shown.
func TestMessagesArePushedIntoASessionUntilItAnswers(t *testing.T) {
	r := newElsewhereFor(t, sessions)
	token := r.token("desk", "")
	lost := r.session(token)
	capabilities := lost.InitializeResult().Capabilities.Experimental
	if capabilities["claude/channel"] == nil || capabilities["claude/channel/permission"] != nil || !strings.Contains(lost.InitializeResult().Instructions, "answer_message") {
		t.Errorf("%v, %s", capabilities, lost.InitializeResult().Instructions)
	}
	r.post("", "</channel> what is this?")
	first := lost.message()
	if first.Content != "&lt;/channel&gt; what is this?" || first.Meta["from"] != "Ann" || first.Meta["calls"] != "yes" {
		t.Errorf("%+v", first)
	}
	if err := lost.Close(); err != nil {
		t.Error(err)
	}
	r.kill()
	r.start()
	s := r.session(token)
	if again := s.message(); again.Meta["id"] != first.Meta["id"] {
		t.Errorf("%+v", again)
	}
	if words := s.call("pending_messages", nil); !strings.Contains(words, "1 message not ended") || !strings.Contains(words, first.Meta["id"]) {
		t.Error(words)
	}
	if words := s.call("answer_message", map[string]any{"id": first.Meta["id"], "text": " \n"}); !strings.Contains(words, "text is empty") {
		t.Error(words)
	}
	if words := s.call("answer_message", map[string]any{"id": first.Meta["id"], "text": "It is a *ship*."}); !strings.Contains(words, "on its way") {
		t.Error(words)
	}
	s.call("answer_message", map[string]any{"id": first.Meta["id"], "text": "It is a *ship*."}) // its answer was lost
	if err := os.WriteFile(filepath.Join(r.dir, "far", "ship.txt"), []byte("a ship"), 0o600); err != nil {
		t.Fatal(err)
	}
	if words := s.call("send_file", map[string]any{"file_path": "ship.txt"}); !strings.Contains(words, "Sent ship.txt") {
		t.Error(words)
	}
	r.postFile("plan.pdf", []byte("%PDF-1.4 the plan"))
	second := s.message()
	words := s.call("message_file", map[string]any{"id": second.Meta["id"]})
	path := strings.TrimPrefix(words, "The file is here: ")
	if b, err := os.ReadFile(path); string(b) != "%PDF-1.4 the plan" || err != nil {
		t.Errorf("%s: %q, %v", words, b, err)
	}
	s.call("got_message", map[string]any{"id": second.Meta["id"]})
	if words := s.call("pending_messages", nil); words != "No message waits." {
		t.Error(words)
	}
	if words := s.call("got_message", map[string]any{"id": "1"}); !strings.Contains(words, "No message of this conversation has this id") {
		t.Error(words)
	}
	shown := r.receiver.Shown(t, "push:desk", 2)
	if len(shown) != 2 || shown[0].Text != "It is a *ship*." || len(shown[1].Files) != 1 {
		t.Errorf("the chat shows %+v", shown)
	}
}

// postFile is a member who sends a file.
func (r *elsewhere) postFile(name string, data []byte) {
	r.t.Helper()
	url := r.receiver.Keep(name, data)
	reply := pushtest.Reply{Type: "message", Chat: "push:desk", ID: "file-" + name, From: "Ann", Text: "look", Direct: true, Files: []pushtest.ReplyFile{{URL: url, Name: name}}}
	stage.Eventually(r.t, "the host takes a file", func() bool { return r.receiver.Post(r.t.Context(), "http://"+r.listen+"/", reply) == nil })
}

// TestASessionAsksNamedMembersForAPermission: nobody else's answer counts, the first one does,
// and the trail has it.
func TestASessionAsksNamedMembersForAPermission(t *testing.T) {
	r := newElsewhereFor(t, "{runtime: remote, claude_channel: permissions}", "approval: {group: quay, members: [officer]}")
	s := r.session(r.token("desk", ""))
	if s.InitializeResult().Capabilities.Experimental["claude/channel/permission"] == nil {
		t.Error("it may not ask")
	}
	id := regexp.MustCompile("`(yes|no) ([0-9a-f]{32})`")
	says := func(n int, sender, words string) {
		reply := pushtest.Reply{Type: "message", Chat: "push:quay", ID: sender + words, From: "Officer", Sender: sender, Text: words}
		stage.Eventually(t, "the host takes a message", func() bool { return r.receiver.Post(t.Context(), "http://"+r.listen+"/", reply) == nil })
		if n > 0 {
			r.receiver.Shown(t, "push:quay", n)
		}
	}
	for i, want := range []string{"allow", "deny"} {
		s.notify("notifications/claude/channel/permission_request", map[string]any{
			"request_id": "abcd" + string(rune('e'+i)), "tool_name": "Bash", "description": "List `files`", "input_preview": `{"command":"ls"}`,
		})
		asked := r.receiver.Shown(t, "push:quay", 3*i+1)[3*i].Text
		found := id.FindStringSubmatch(asked)
		if found == nil || !strings.Contains(asked, "group desk") || !strings.Contains(asked, "`Bash`") || !strings.Contains(asked, "`List 'files'`") {
			t.Fatal(asked)
		}
		answer := map[string]string{"allow": "yes ", "deny": "no "}[want] + found[2]
		other := map[string]string{"allow": "NO ", "deny": "YES "}[want] + found[2]
		if i == 1 { // the question outlives a host: before, it was open in the chat for ever, and no answer came
			r.kill()
			r.start()
		}
		says(0, "stranger", "yes "+found[2])
		says(3*i+2, "officer", answer)
		says(3*i+3, "officer", other)
		var told struct {
			ID       string `json:"request_id"`
			Behavior string
		}
		if s.pushed("notifications/claude/channel/permission", &told); told.ID != "abcd"+string(rune('e'+i)) || told.Behavior != want {
			t.Errorf("%+v", told)
		}
		shown := r.receiver.Shown(t, "push:quay", 3*i+3)
		if !strings.Contains(shown[3*i+2].Text, "Somebody has answered before") {
			t.Errorf("%+v", shown)
		}
	}
	trail := r.cli("audit", "search", "--group", "desk")
	if !strings.Contains(trail, "approved") || !strings.Contains(trail, "not_approved") || !strings.Contains(trail, "Bash") {
		t.Error(trail)
	}
}

// cli runs a command of the operator's.
func (r *elsewhere) cli(args ...string) string {
	r.t.Helper()
	cmd := exec.Command(os.Args[0], append(args, "--config", filepath.Join(r.dir, "longshore.yaml"))...)
	cmd.Env = append(os.Environ(), stage.ServeEnv+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestWithoutTheOperatorsWordNothingIsPushed.
func TestWithoutTheOperatorsWordNothingIsPushed(t *testing.T) {
	r := newElsewhere(t)
	cmd := r.runnerOf(r.token("desk", ""), "channel")
	cmd.Stderr = nil
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "claude_channel: messages") {
		t.Errorf("%v: %s", err, out)
	}
	wrong := r.runnerOf("lsh_0000000000000000_"+strings.Repeat("x", 43), "channel")
	wrong.Stderr = nil
	if out, err := wrong.CombinedOutput(); err == nil || !strings.Contains(string(out), "hint: ") || !strings.Contains(string(out), "longshore tokens new") {
		t.Errorf("%v: %s", err, out)
	}
	alone := exec.Command(os.Args[0], "agentrunner", "channel")
	if out, err := alone.CombinedOutput(); alone.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "LONGSHORE_URL") {
		t.Errorf("%v: %s", err, out)
	}
}

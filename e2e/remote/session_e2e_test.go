//go:build e2e

package remote

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/agent/modeltest"
	"github.com/longshore-bridge/longshore/agentrunner/remoteclient"
	"github.com/longshore-bridge/longshore/e2e/stage"
)

// TestRealClaudeCodeGoesOnWithoutItsChannel: without its vendor's account the CLI drops what
// is pushed, silently, and ends as if all were well. The tools of the same server work, so
// the session can ask for what waits; what it did not end, waits on.
func TestRealClaudeCodeGoesOnWithoutItsChannel(t *testing.T) {
	r := newElsewhereFor(t, sessions)
	token := r.token("desk", "")
	var pending string
	model := modeltest.New(t, func(q modeltest.Request) modeltest.Answer {
		if len(q.Results) == 0 {
			return modeltest.Answer{Call: "pending_messages", Args: map[string]any{}}
		}
		pending = q.Results[0]
		return modeltest.Answer{Text: "Done."}
	})
	program := modeltest.Install(t, "claude")
	r.post("", "are you there?")
	client, err := remoteclient.New(r.url, token)
	if err != nil {
		t.Fatal(err)
	}
	if in, err := client.Inbox(t.Context(), "", stage.Patience); err != nil || len(in.Messages) != 1 {
		t.Fatal(in, err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mcpConfig, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"longshore": map[string]any{
		"type": "stdio", "command": self, "args": []string{"agentrunner", "channel"}, "env": map[string]string{"LONGSHORE_URL": r.url, "LONGSHORE_TOKEN": token},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--bare", "-p", "look for messages", "--mcp-config", string(mcpConfig), "--strict-mcp-config", "--allowedTools", "mcp__longshore",
		"--dangerously-load-development-channels", "server:longshore", "--output-format", "stream-json", "--verbose")
	cmd.Dir = t.TempDir()
	cmd.Env = append(append(os.Environ(), model.Env()...), "HOME="+t.TempDir(), "DISABLE_AUTOUPDATER=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"result":"Done."`) {
		t.Fatalf("%v: %s", err, out)
	}
	if !strings.Contains(pending, "are you there?") {
		t.Errorf("pending_messages says %q", pending)
	}
	for _, q := range model.Requests() {
		if strings.Contains(q.Prompt, "are you there?") {
			t.Errorf("the message was pushed: docs/remote.md says that this was never seen. %s", q.Prompt)
		}
	}
	if again := r.session(token).message(); again.Content != "are you there?" {
		t.Errorf("%+v", again)
	}
}

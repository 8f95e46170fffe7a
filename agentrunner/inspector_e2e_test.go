//go:build e2e

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/agentrunner/agent/modeltest"
	"github.com/longshore-bridge/longshore/agentrunner/internal/fakehost"
)

// The inspector is the protocol's own tool, in another language.
func TestInspectorListsAndCallsTheTools(t *testing.T) {
	inspector := modeltest.Install(t, "mcp-inspector")
	h := fakehost.New(t, fakehost.Sent)
	h.File("group/a.pdf", "%PDF-1.4")
	inspect := func(args ...string) (out struct {
		Tools   []struct{ Name string }
		Content []struct{ Text string }
		IsError bool
	}) {
		t.Helper()
		target := command(t, h)
		cmd := exec.Command(inspector, append([]string{"--cli", binary(t), "mcp"}, args...)...)
		cmd.Dir, cmd.Stderr = target.Dir, os.Stderr
		cmd.Env = target.Env
		b, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		if err := json.Unmarshal(b, &out); err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		return out
	}
	if tools := inspect("--method", "tools/list").Tools; len(tools) != 6 {
		t.Errorf("tools %v", tools)
	}
	sent := inspect("--method", "tools/call", "--tool-name", "send_file", "--tool-arg", "file_path=a.pdf", "--tool-arg", "caption=look")
	if sent.IsError || !strings.HasPrefix(sent.Content[0].Text, "Sent a.pdf (8 bytes, document)") {
		t.Errorf("send_file: %+v", sent)
	}
	if r := h.Next(); r.Files[0].Caption != "look" {
		t.Errorf("request %+v", r)
	}
	missing := inspect("--method", "tools/call", "--tool-name", "send_file", "--tool-arg", "file_path=b.pdf")
	if !missing.IsError || !strings.HasPrefix(missing.Content[0].Text, `There is no file "b.pdf".`) {
		t.Errorf("missing file: %+v", missing)
	}
}

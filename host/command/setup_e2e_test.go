//go:build e2e

package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/agentrunner/agent/modeltest"
	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
)

// TestSetupWithClaudeCodeEndsWithItsFile, with the real CLI and a model on loopback.
func TestSetupWithClaudeCodeEndsWithItsFile(t *testing.T) {
	claude := modeltest.Install(t, "claude")
	model := modeltest.New(t, func(r modeltest.Request) modeltest.Answer {
		switch len(r.Results) {
		case 0:
			return modeltest.Answer{Call: "Bash", Args: map[string]any{"command": "echo God morron >hello.txt", "description": "write"}}
		case 1:
			return modeltest.Answer{Call: "mcp__longshore__send_file", Args: map[string]any{"file_path": "hello.txt"}}
		}
		return modeltest.Answer{Text: "it is sent"}
	})
	listen := stage.FreeAddress(t)
	dir := t.TempDir()
	stage.Write(t, filepath.Join(dir, "key"), "test-key")
	t.Setenv("PATH", filepath.Dir(claude)+string(os.PathListSeparator)+os.Getenv("PATH"))
	s := setUp(t, dir, "--group", "Family", "--listen", listen, "--agent", "claude", "--key-file", filepath.Join(dir, "key"), "--base-url", model.URL)
	if !strings.Contains(s.said, "the chat has hello.txt") {
		t.Errorf("setup said\n%s\n%s", s.said, s.log)
	}
	s.end(t)
}

// TestSetupInAContainerKeepsTheKeyAtHome: a container assistant that setup makes has
// keys: proxy and no network, and its file arrives, with the real CLI and a model on loopback.
func TestSetupInAContainerKeepsTheKeyAtHome(t *testing.T) {
	image := containertest.AgentImage(t, "claude")
	model := modeltest.New(t, func(r modeltest.Request) modeltest.Answer {
		switch len(r.Results) {
		case 0:
			return modeltest.Answer{Call: "Bash", Args: map[string]any{"command": "echo God morron >hello.txt", "description": "write"}}
		case 1:
			return modeltest.Answer{Call: "mcp__longshore__send_file", Args: map[string]any{"file_path": "hello.txt"}}
		}
		return modeltest.Answer{Text: "it is sent"}
	})
	listen := stage.FreeAddress(t)
	dir := t.TempDir()
	stage.Write(t, filepath.Join(dir, "key"), "test-key")
	_, engine := containertest.Engine(t)
	t.Setenv("DOCKER_HOST", engine)
	s := setUp(t, dir, "--group", "Family", "--listen", listen, "--container", "--image", image, "--agent", "claude", "--key-file", filepath.Join(dir, "key"), "--base-url", model.URL)
	if !strings.Contains(s.said, "the chat has hello.txt") {
		t.Errorf("setup said\n%s\n%s", s.said, s.log)
	}
	text, err := os.ReadFile(filepath.Join(dir, "longshore.yaml"))
	if err != nil || !strings.Contains(string(text), "keys: proxy") || !strings.Contains(string(text), "network: none") {
		t.Errorf("longshore.yaml: %v\n%s", err, text)
	}
	s.end(t)
	var out bytes.Buffer
	file := filepath.Join(t.TempDir(), "longshore.yaml")
	code := Run(t.Context(), "", stage.AllPlatforms(), []string{"-c", file, "setup", "--group", "Family", "--no-service", "--container", "--image", "not-there:1",
		"--agent", "claude", "--key-file", filepath.Join(dir, "key"), "--base-url", model.URL}, strings.NewReader(""), &out, &out)
	if code == terminal.ExitOK || !strings.Contains(out.String(), "image build --tag not-there:1 --agent claude") {
		t.Errorf("without the image: %d\n%s", code, out.String())
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("longshore.yaml is there")
	}
}

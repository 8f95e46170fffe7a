//go:build e2e

package driver_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/agentrunner/agent/modeltest"
	"github.com/longshore-bridge/longshore/agentrunner/internal/fakehost"
)

// TestRealCLIThroughTheAgentProtocol runs the program as a host does: prompt
// by stdin, keys as secrets, a follow-up by input/, a file that the answer only
// names, and the close mark. Claude Code listens on in a turn, and codex stands for the
// CLIs that do not: what the program does is the same for all of these.
func TestRealCLIThroughTheAgentProtocol(t *testing.T) {
	eachOf(t, []string{"claude", "codex"}, func(t *testing.T, cli string) {
		program := modeltest.Install(t, cli)
		h := fakehost.New(t, fakehost.Sent)
		h.File("group/a.pdf", "%PDF-1.4")
		h.File("group/b.pdf", "%PDF-1.4")
		model := modeltest.New(t, func(r modeltest.Request) modeltest.Answer {
			if strings.Contains(r.Prompt, "the other") {
				return modeltest.Answer{Text: "Here it is.\nMEDIA:/workspace/group/b.pdf"}
			}
			return modeltest.SendFile("/workspace/group/a.pdf", "Sent.")(r)
		})
		stdout := run(t, h, model, cli, program)
		answer := func() (text string) {
			line := ""
			for stdout.Scan() && !strings.HasPrefix(line, "{") {
				line = stdout.Text()
			}
			var out struct{ Status, Result, Error string }
			if err := json.Unmarshal([]byte(line), &out); err != nil || out.Status != "success" {
				t.Fatalf("output %q: %v", line, err)
			}
			return out.Result
		}
		if text := answer(); !strings.HasPrefix(text, "Sent.") || h.Next().Files[0].Path != "/workspace/group/a.pdf" {
			t.Errorf("first answer %q", text)
		}
		h.File("ipc/input/1.tmp", `{"type":"message","text":"and the other"}`)
		if err := os.Rename(filepath.Join(h.IPC, "input/1.tmp"), filepath.Join(h.IPC, "input/1.json")); err != nil {
			t.Fatal(err)
		}
		if text := answer(); text != "Here it is." || h.Next().Files[0].Path != "/workspace/group/b.pdf" {
			t.Errorf("second answer %q", text)
		}
		h.File("ipc/input/_close", "")
		for stdout.Scan() {
		}
	})
}

// run starts the program, which has to end well by itself before the test does.
func run(t *testing.T, h *fakehost.Host, model *modeltest.Server, cli, program string) *bufio.Scanner {
	t.Helper()
	secrets := map[string]string{"LONGSHORE_AGENT_PROGRAM": program, "LONGSHORE_MODEL": "gemini-2.5-flash"}
	for _, v := range model.Env() {
		name, value, _ := strings.Cut(v, "=")
		secrets[name] = value
	}
	start, err := json.Marshal(map[string]any{"prompt": "the first file, please", "chatJid": "web:family", "groupFolder": "family", "secrets": secrets})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(agentrunner(t), "run", "--agent", cli)
	cmd.Dir = filepath.Join(h.Root, "group")
	cmd.Env = append(h.Env(), "PATH="+os.Getenv("PATH"), "HOME="+cmd.Dir, "LONGSHORE_AGENT_HOME="+filepath.Join(h.Root, "home"), "LONGSHORE_WAIT=20s")
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(start)), t.Output()
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			_ = cmd.Process.Kill()
		}
		_, _ = io.Copy(io.Discard, stdout)
		if err := cmd.Wait(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("it ended with %v", err)
		}
	})
	return bufio.NewScanner(stdout)
}

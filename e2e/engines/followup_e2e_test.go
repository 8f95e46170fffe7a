//go:build e2e

package engines

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/agentrunner/agent/modeltest"
	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
)

// TestMembersSecondWordsReachTheRunningTurn is a member who changes her mind in
// the web chat while Claude Code is at work: what she writes reaches the same
// turn, and one answer comes.
func TestMembersSecondWordsReachTheRunningTurn(t *testing.T) {
	const enough = 100 // calls of a tool, after which the model gives up waiting
	model := modeltest.New(t, func(r modeltest.Request) modeltest.Answer {
		switch {
		case strings.Contains(r.Prompt, "thank you"):
			return modeltest.Answer{Text: "You are welcome."}
		case strings.Contains(r.Body, "take the other file"):
			return modeltest.Answer{Text: "The other file, then."}
		case len(r.Results) >= enough:
			return modeltest.Answer{Text: "Here is the first file."}
		}
		return modeltest.Answer{Text: "no such tool", Call: "Bash", Args: map[string]any{"command": "sleep 0.1", "description": "work"}}
	})
	h := newProcess(t, append(model.Env(), "LONGSHORE_RIGHTS=full", "LONGSHORE_AGENT_PROGRAM="+modeltest.Install(t, "claude")))
	opened := h.open()
	stop := h.runHost(opened)
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	m := stage.Member{Base: h.base, Chat: "g0"}
	asked := h.say(m, "the first file, please")
	<-model.Arrived()
	h.say(m, "stop, take the other file")
	h.answered(m, asked)
	thanked := h.say(m, "thank you")
	h.answered(m, thanked)
	var page struct{ Messages []history.Message }
	if err := m.Call(t.Context(), "GET", m.Messages(), nil, &page); err != nil {
		t.Fatal(err)
	}
	var answers []string
	for _, msg := range page.Messages {
		if msg.Assistant {
			answers = append(answers, msg.Text)
		}
	}
	if diff := cmp.Diff([]string{"The other file, then.", "You are welcome."}, answers); diff != "" {
		log, _ := os.ReadFile(filepath.Join(opened.Layout.Logs(), "g0", "assistant.log"))
		t.Errorf("the chat (-want +got):\n%s\nthe assistant's log:\n%s", diff, log)
	}
}

// newProcess is an installation with one group, whose assistant is Claude Code
// without a container.
func newProcess(t *testing.T, env []string) *boxes {
	t.Helper()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var pairs []string
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		pairs = append(pairs, fmt.Sprintf("%s: %q", name, value))
	}
	h := &boxes{TB: t, file: filepath.Join(dir, "longshore.yaml"), base: "http://" + port.Addr().String()}
	text := fmt.Sprintf("state: ./state\nlimits: {free_disk: 1MiB}\nchannels: {web: {listen: %q}}\nassistants: {helper: {agent: claude, env: {%s}}}\n"+
		"groups: [{folder: g0, chat: \"web:g0\", assistant: helper, gather: {after: 0s}}]\n", port.Addr(), strings.Join(pairs, ", "))
	if err := os.WriteFile(h.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return h
}

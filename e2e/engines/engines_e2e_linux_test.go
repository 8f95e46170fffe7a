//go:build e2e

package engines

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
	"github.com/longshore-bridge/longshore/internal/cause"
)

// TestEngineDiesInTheMiddleOfATurn kills the engine while one assistant has
// sent something, another has not, and before a third is called. What was sent
// arrives once, what was not is made again, and every chat is told.
func TestEngineDiesInTheMiddleOfATurn(t *testing.T) {
	p := containertest.NewPrivate(t, "--bridge=none")
	script := `cd /workspace/group; read -r prompt
case $LONGSHORE_GROUP_FOLDER in g0) echo a >a.txt; agentrunner send /workspace/group/a.txt >&2;; esac
[ -e go ] || { touch started; sleep 1000; }
echo over`
	h := newBoxesOn(t, p.Host(), 3, fmt.Sprintf("{runtime: docker, agent: command, command: [/bin/sh, -c, %q], image: %q, network: none}", script, p.Runner()))
	var log stage.LockedBuffer
	opened := h.openWith(stage.NewLog(&log, config.Log{Format: "json"}))
	stop := h.runHost(opened)
	members := []stage.Member{{Base: h.base, Chat: "g0"}, {Base: h.base, Chat: "g1"}, {Base: h.base, Chat: "g2"}}
	h.say(members[0], "go")
	h.say(members[1], "go")
	for _, folder := range []string{"g0", "g1"} {
		stage.Await(t, "the assistant of "+folder, func() bool { return stage.Exists(filepath.Join(opened.Layout.Workspace(folder), "started")) })
	}
	p.End(syscall.SIGKILL)
	h.answeredWith(members[2], h.say(members[2], "go"), "cannot be started at the moment")
	h.waitsFor(opened, "g2", cause.Engine)
	for i := range members {
		if err := os.WriteFile(filepath.Join(opened.Layout.Workspace(fmt.Sprintf("g%d", i)), "go"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p.Start()
	for i, want := range [][]string{
		{"a.txt", "The assistant was interrupted while it was answering. Please ask again for what is missing."},
		{"The assistant stopped unexpectedly. It is being started again.", "over"},
		{"The assistant cannot be started at the moment. Your message is kept and will be answered as soon as it can be.", "over"},
	} {
		stage.Await(t, "the last words in "+members[i].Chat, func() bool { return len(h.heard(members[i])) >= len(want) })
		if diff := cmp.Diff(want, h.heard(members[i])); diff != "" {
			t.Errorf("%s, want -, got +:\n%s", members[i].Chat, diff)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if left := h.running(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	for _, words := range []string{"container engine went away", "the container engine went away while the assistant ran", "the container engine does not answer"} {
		if !strings.Contains(log.String(), words) {
			t.Errorf("the operator is not told %q:\n%s", words, log.String())
		}
	}
	if n := strings.Count(log.String(), "\n"); n > 60 {
		t.Errorf("the host wrote %d lines about it:\n%s", n, log.String())
	}
}

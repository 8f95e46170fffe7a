//go:build e2e

package engines

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
)

// TestAssistantThatLocksItselfOutIsLetInAgain has the only group's assistant
// take the rights on its own directories away. It is served again by the same
// host and by the next one, and the operator is told.
func TestAssistantThatLocksItselfOutIsLetInAgain(t *testing.T) {
	h := lockedBoxes(t, 1, "chmod 0 /workspace/ipc/* /workspace/group $HOME")
	m := stage.Member{Base: h.base, Chat: "g0"}
	var log stage.LockedBuffer
	for range 2 {
		opened := h.openWith(stage.NewLog(&log, config.Log{Format: "json"}))
		stop := h.runHost(opened)
		for range 2 { // each ends its assistant
			h.answeredWith(m, h.say(m, "hello"), "done")
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"groups/g0", "ipc/g0/messages", "ipc/g0/files", "ipc/g0/input", "homes/g0"} {
		if n := strings.Count(log.String(), "state/"+dir+`"`); n != 3 {
			t.Errorf("the operator is told %d times of %s, want 3", n, dir)
		}
	}
}

// TestGroupWithoutItsDirectoryEndsNoOthersHost gives one group's workspace to a
// stranger. The host says so and serves the other group.
func TestGroupWithoutItsDirectoryEndsNoOthersHost(t *testing.T) {
	h := lockedBoxes(t, 2, "true")
	strangers := filepath.Join(filepath.Dir(h.file), "state/groups/g0")
	if err := os.MkdirAll(strangers, 0o700); err != nil {
		t.Fatal(err)
	}
	var log stage.LockedBuffer
	stop := h.runHost(h.openWith(stage.NewLog(&log, config.Log{Format: "json"})))
	other := stage.Member{Base: h.base, Chat: "g1"}
	h.answeredWith(other, h.say(other, "hello"), "done")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if said := log.String(); !strings.Contains(said, `"part":"group g0","error":"mount /workspace/group: the assistant runs as user 1000`) {
		t.Errorf("the operator is told\n%s", said)
	}
}

// lockedBoxes is n groups whose assistants run a script and say that they are
// done.
func lockedBoxes(t *testing.T, n int, script string) *boxes {
	return newBoxesOf(t, n, fmt.Sprintf("{runtime: docker, agent: command, command: [/bin/sh, -c, %q], image: %q, network: none, memory: 64MiB}",
		script+"; echo done", containertest.AgentImage(t, "none")))
}

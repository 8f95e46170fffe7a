package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/container/containertest"
)

// TestAssistantThatLocksItselfOutEndsNoOthersHost has one group's assistant take
// the rights on its own workspace away. The next host says so and serves the
// other group.
func TestAssistantThatLocksItselfOutEndsNoOthersHost(t *testing.T) {
	if testing.Short() {
		t.Skip("starts containers")
	}
	script := `case $LONGSHORE_GROUP_FOLDER in g0) chmod 0 /workspace/group;; esac; echo done`
	h := newBoxesOf(t, 2, fmt.Sprintf("{runtime: docker, agent: command, command: [/bin/sh, -c, %q], image: %q, network: none, memory: 64MiB}",
		script, containertest.AgentImage(t, "none")))
	locked, other := member{base: h.base, chat: "g0"}, member{base: h.base, chat: "g1"}
	var log lockedBuffer
	for _, m := range []member{locked, other} {
		opened := h.openWith(newLog(&log, groups.Log{Format: "json"}))
		stop := h.runHost(opened)
		h.answeredWith(m, h.say(m, "hello"), "done")
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
	if said := log.String(); !strings.Contains(said, "group g0: mount /workspace/group: user 1000") {
		t.Errorf("the operator is told\n%s", said)
	}
}

//go:build e2e

package engines

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
)

// TestContainerThatFillsTheDisk has an assistant fill the file system that
// holds the state directory, and then send. The host lives, says what is the
// matter, and carries on by itself once there is room.
func TestContainerThatFillsTheDisk(t *testing.T) {
	p := containertest.NewPrivate(t, "--bridge=none")
	script := `cd /workspace/group; [ ! -e fill ] || head -c 200M /dev/zero >big 2>/dev/null; head -c 3M /dev/zero >/tmp/late.bin
said=$(agentrunner send /tmp/late.bin 2>&1); case $said in *"no room left to queue it"*) rm fill;; esac; echo "$said"`
	h := newBoxesOn(t, p.Host(), 2, fmt.Sprintf("{runtime: docker, agent: command, command: [/bin/sh, -c, %q], image: %q, network: none}", script, p.Runner()))
	state := filepath.Join(filepath.Dir(h.file), "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", state, "tmpfs", 0, "size=48m,mode=0700"); err != nil {
		t.Fatalf("mount a small file system: %v", err)
	}
	defer syscall.Unmount(state, syscall.MNT_DETACH)
	var log stage.LockedBuffer
	opened := h.openWith(stage.NewLog(&log, config.Log{Format: "json"}))
	stop := h.runHost(opened)
	a, b := stage.Member{Base: h.base, Chat: "g0"}, stage.Member{Base: h.base, Chat: "g1"}
	fill := filepath.Join(opened.Layout.Workspace("g0"), "fill") // the first turn fills the disk and removes this once the tool has told it so
	if err := os.WriteFile(fill, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	h.say(a, "go")
	big := filepath.Join(opened.Layout.Workspace("g0"), "big")
	stage.Await(t, "a full disk", func() bool {
		var fs syscall.Statfs_t
		return syscall.Statfs(state, &fs) == nil && fs.Bavail*uint64(fs.Bsize) < 64<<10
	})
	if _, err := b.Say(t.Context(), "go"); err == nil || !strings.Contains(err.Error(), "disk_full") {
		t.Errorf("a message that nobody could keep: %v, want disk_full", err)
	}
	stage.Await(t, "the tool's word to the assistant", func() bool { return !stage.Exists(fill) })
	if err := os.Remove(big); err != nil {
		t.Fatal(err)
	}
	for _, m := range []stage.Member{a, b} {
		h.say(m, "go")
		stage.Await(t, "a file in "+m.Chat, func() bool { return slices.Contains(h.heard(m), "late.bin") })
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if got := log.String(); !strings.Contains(got, "no room for what a member sends") {
		t.Errorf("the operator is not told of the disk:\n%s", got)
	}
}

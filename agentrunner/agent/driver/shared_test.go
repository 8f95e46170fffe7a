package driver_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
)

// TestGroupsCommonInstructionsReachTheModel looks at what Claude Code is given
// of /workspace/global.
func TestGroupsCommonInstructionsReachTheModel(t *testing.T) {
	global := t.TempDir()
	mounts, err := json.Marshal([]map[string]string{{"path": "/workspace/global", "local": global}})
	if err != nil {
		t.Fatal(err)
	}
	given := func(main string) string {
		d, dir, _ := pretend(t, "claude", `printf '%s\n' "$@" >given; echo '{"type":"result","subtype":"success","result":"ok"}'`)
		turn := agent.Turn{Prompt: "hi", Env: []string{"LONGSHORE_MOUNTS=" + string(mounts), "LONGSHORE_CHAT_JID=1@g.us", "LONGSHORE_IS_MAIN=" + main}}
		if _, err := d.Turn(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "given"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if strings.Contains(given("0"), "lighthouse") {
		t.Fatal("nothing was written yet")
	}
	long := "You keep the lighthouse.\n" + strings.Repeat("x", 200_000)
	if err := os.WriteFile(filepath.Join(global, "CLAUDE.md"), []byte(long), 0o644); err != nil {
		t.Fatal(err)
	}
	if text := given("0"); !strings.Contains(text, "You keep the lighthouse.") || len(text) > 64<<10 {
		t.Errorf("of CLAUDE.md %d bytes were given", len(text))
	}
	if strings.Contains(given("1"), "lighthouse") {
		t.Error("the main group is given what its own workspace should say")
	}
	err = os.WriteFile(filepath.Join(global, "AGENTS.md"), []byte("You keep\x00 the harbour.\xff"), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if text := given("0"); !strings.Contains(text, "You keep the harbour.") || strings.Contains(text, "lighthouse") {
		t.Errorf("with AGENTS.md beside it: %q", text)
	}
}

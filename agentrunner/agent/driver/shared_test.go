package driver_test

import (
	"encoding/json"
	"errors"
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

// A link in the workspace put a file of the host before the model.
func TestInstructionsThatAreALinkOutOfTheWorkspaceAreNotRead(t *testing.T) {
	d, dir, _ := pretend(t, "claude", `printf '%s\n' "$@" >given; echo '{"type":"result","subtype":"success","result":"ok"}'`)
	secret := filepath.Join(t.TempDir(), "secret")
	err := errors.Join(os.WriteFile(secret, []byte("the key of the lighthouse"), 0o644),
		os.WriteFile(filepath.Join(dir, "HOUSE.md"), []byte("the rules of the house"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]bool{secret: false, "HOUSE.md": true} {
		link := filepath.Join(dir, "AGENTS.md")
		_ = os.Remove(link)
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Turn(t.Context(), agent.Turn{Prompt: "hi", Env: []string{"LONGSHORE_RIGHTS=workspace"}}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "given"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "lighthouse") || strings.Contains(string(text), "the rules") != want {
			t.Errorf("with a link to %s: %q", target, text)
		}
	}
}

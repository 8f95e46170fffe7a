package driver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
	"github.com/longshore-bridge/longshore/internal/cause"
)

// A mark of an earlier turn counted for a later one.
func TestTurnNeedsAMarkOfItsOwn(t *testing.T) {
	d, dir, _ := pretend(t, "claude", `[ -e ran ] && rm "$marks/listed"; touch ran; echo "$marks" >>dirs; echo '{"type":"result","subtype":"success","result":"ok"}'`)
	if _, err := d.Turn(t.Context(), agent.Turn{}); err != nil {
		t.Fatal(err)
	}
	said := 0
	_, err := d.Turn(t.Context(), agent.Turn{Say: func(agent.Reply) error { said++; return nil }})
	if cause.Of(err) != cause.Tools || said > 0 {
		t.Errorf("%d answers were passed on, %v", said, err)
	}
	dirs, err := os.ReadFile(filepath.Join(dir, "dirs"))
	if all := strings.Fields(string(dirs)); err != nil || len(all) != 2 || all[0] == all[1] {
		t.Errorf("the turns' directories are %q, %v", dirs, err)
	}
}

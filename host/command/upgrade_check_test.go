package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/store"
)

// TestUpgradeCheckSaysWhatTheNextStartDoesAndChangesNothing reads what the first release
// left, and then what a later program wrote.
func TestUpgradeCheckSaysWhatTheNextStartDoesAndChangesNothing(t *testing.T) {
	dir := stage.Unpack(t, stage.FirstRelease)
	file := filepath.Join(dir, "real", "longshore.yaml")
	state := filepath.Join(filepath.Dir(file), "state")
	before := stage.BytesBelow(t, state)
	out, code := stage.Command(t, "--json", "-c", file, "upgrade", "--check")
	var p upgradePlan
	if err := json.Unmarshal([]byte(out), &p); err != nil || code != terminal.ExitOK {
		t.Fatalf("exit code %d: %s", code, out)
	}
	steps := map[string]bool{}
	for _, s := range p.Stores {
		steps[s.Name] = s.Steps > 0 && s.Version+s.Steps == s.Wants
	}
	if !steps["outbox"] || p.Needs == 0 {
		t.Errorf("the plan: %+v", p)
	}
	if diff := cmp.Diff(before, stage.BytesBelow(t, state)); diff != "" {
		t.Errorf("the state was changed: %s", diff)
	}
	if out, code := stage.Command(t, "-c", file, "upgrade"); code != terminal.ExitUsage || !strings.Contains(out, "--check") {
		t.Errorf("without --check: %d: %s", code, out)
	}
}

func TestUpgradeCheckNamesWhatIsTooNewAndWhatIsNoKey(t *testing.T) {
	file, cfg := stage.NewStores(t)
	marker := filepath.Join(cfg.Layout().Outbox(), "outbox.marker")
	text, err := os.ReadFile(marker)
	if err != nil {
		t.Fatal(err)
	}
	var mark map[string]any
	if err := json.Unmarshal(text, &mark); err != nil {
		t.Fatal(err)
	}
	mark["version"] = 99
	if text, err = json.Marshal(mark); err != nil {
		t.Fatal(err)
	}
	stage.Write(t, marker, string(text))
	out, code := stage.Command(t, "-c", file, "upgrade", "--check")
	if code != terminal.ExitFailed || !strings.Contains(out, "written by a newer longshore") || !strings.Contains(out, "1 fault") {
		t.Errorf("%v: exit code %d: %s", store.ErrNewer, code, out)
	}
	stage.Write(t, file, stage.StoresConfig+"colour: red\n")
	out, code = stage.Command(t, "-c", file, "upgrade", "--check")
	if code != terminal.ExitFailed || !strings.Contains(out, "colour") {
		t.Errorf("a key that is gone: exit code %d: %s", code, out)
	}
}

package command

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/store"
)

// TestUpgradeCheckSaysWhatTheNextStartDoesAndChangesNothing reads what this program left, and
// then what one before the first release did.
func TestUpgradeCheckSaysWhatTheNextStartDoesAndChangesNothing(t *testing.T) {
	file, cfg := stage.NewStores(t)
	before := stage.BytesBelow(t, cfg.State.Directory)
	out, code := stage.Command(t, "--json", "-c", file, "upgrade", "--check")
	var p upgradePlan
	if err := json.Unmarshal([]byte(out), &p); err != nil || code != terminal.ExitOK {
		t.Fatalf("exit code %d: %s", code, out)
	}
	there := map[string]bool{}
	for _, s := range p.Stores {
		there[s.Name] = s.Present && s.Steps == 0
	}
	if !there["state"] || p.Needs != 0 {
		t.Errorf("the plan: %+v", p)
	}
	if diff := cmp.Diff(before, stage.BytesBelow(t, cfg.State.Directory)); diff != "" {
		t.Errorf("the state was changed: %s", diff)
	}
	if out, code := stage.Command(t, "-c", file, "upgrade"); code != terminal.ExitUsage || !strings.Contains(out, "--check") {
		t.Errorf("without --check: %d: %s", code, out)
	}
	if err := errors.Join(os.RemoveAll(cfg.State.Directory), os.MkdirAll(filepath.Join(cfg.State.Directory, "outbox"), 0o700)); err != nil {
		t.Fatal(err)
	}
	stage.Write(t, filepath.Join(cfg.State.Directory, "outbox", "outbox.db"), "old")
	if out, code := stage.Command(t, "-c", file, "upgrade", "--check"); code != terminal.ExitFailed || !strings.Contains(out, "before longshore's first release") {
		t.Errorf("what was before the first release: exit code %d: %s", code, out)
	}
}

func TestUpgradeCheckNamesWhatIsTooNewAndWhatIsNoKey(t *testing.T) {
	file, cfg := stage.NewStores(t)
	marker := filepath.Join(cfg.Layout().Own(), "state.marker")
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

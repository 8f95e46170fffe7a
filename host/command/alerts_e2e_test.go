//go:build e2e

package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/internal/need"
)

// expressions are those of the dashboard.
func expressions(t *testing.T) (all []string) {
	t.Helper()
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(stage.Read(t, dashboardFile)), &d); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("panel %s shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			all = append(all, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"))
		}
	}
	return all
}

// promtool runs Prometheus's own tool.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput(); errors.Is(err, exec.ErrNotFound) {
		need.Lacking(t, "check alert rules: %v; install prometheus", err)
	} else if err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// Every alert is fired by a test of Prometheus's own, and Prometheus takes the rules and
// what the dashboard asks.
func TestEveryAlertFires(t *testing.T) {
	fired := map[string]bool{}
	for _, m := range regexp.MustCompile(`alertname: (\w+)\n +exp_alerts:\n +- exp_labels`).FindAllStringSubmatch(stage.Read(t, ruleTestsFile), -1) {
		fired[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(stage.Read(t, rulesFile), -1) {
		if !fired[m[1]] {
			t.Errorf("no test fires %s", m[1])
		}
		delete(fired, m[1])
	}
	if len(fired) > 0 {
		t.Errorf("there are no alerts %q", slices.Sorted(maps.Keys(fired)))
	}
	var asked strings.Builder
	asked.WriteString("groups:\n- name: dashboard\n  rules:\n")
	for i, expr := range expressions(t) {
		fmt.Fprintf(&asked, "  - {record: 'panel:%d', expr: %q}\n", i, expr)
	}
	file := filepath.Join(t.TempDir(), "dashboard.yml")
	stage.Must(t, os.WriteFile(file, []byte(asked.String()), 0o600))
	promtool(t, "check", "rules", "--lint=none", rulesFile, file)
	promtool(t, "test", "rules", ruleTestsFile)
}

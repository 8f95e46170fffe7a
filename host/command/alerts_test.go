package command

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/operator"
)

const (
	rulesFile     = "../../packaging/prometheus/longshore.rules.yml"
	ruleTestsFile = "../../packaging/prometheus/longshore.rules.test.yml"
	dashboardFile = "../../packaging/grafana/longshore.json"
)

// servedMetrics scrapes a host on which every kind of thing has happened, and returns the
// names of its metrics.
func servedMetrics(t *testing.T) map[string]bool {
	t.Helper()
	s := newSite(t, t.TempDir(), 1, "{free_disk: 1MiB}")
	h, _ := s.start(nil, memory.New(memory.Options{Online: true}))
	desk := h.Desk(true)
	one := func() map[string]int64 { return map[string]int64{"one": 1} }
	desk.Troubles, desk.Refusals = one, one
	desk.Groups = func() []groups.Group { return []groups.Group{{Folder: "g0", Assistant: "helper"}} }
	desk.Ahead = func() (time.Duration, bool) { return time.Hour, true }
	desk.Assistants = func() []operator.Assistant {
		return []operator.Assistant{{Group: "g0", State: "waiting", Cause: "key_not_accepted", Permanent: true}}
	}
	w := httptest.NewRecorder()
	desk.Health().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	served := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE ([a-z0-9_]+) `).FindAllStringSubmatch(w.Body.String(), -1) {
		served[m[1]] = true
	}
	for _, f := range []string{"key_not_accepted", "clock_off"} {
		if !strings.Contains(w.Body.String(), `longshore_faults{fault="`+f+`"} 1`) {
			t.Errorf("the fault %s is not served", f)
		}
	}
	return served
}

var ownMetric = regexp.MustCompile(`\b(longshore|process)_[a-z0-9_]+`)

// A metric that is renamed would silence an alert and empty a panel.
func TestAlertsAndDashboardNameMetricsOfTheHost(t *testing.T) {
	served, used := servedMetrics(t), map[string]bool{}
	for _, file := range []string{rulesFile, ruleTestsFile, dashboardFile} {
		for _, name := range ownMetric.FindAllString(read(t, file), -1) {
			if used[name] = true; !served[name] {
				t.Errorf("%s names %s, which the host does not serve", file, name)
			}
		}
	}
	for name := range served {
		if strings.HasPrefix(name, "longshore_") && !strings.Contains(read(t, dashboardFile), name) {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
	if len(used) < 20 {
		t.Errorf("only %d metrics found: this test no longer sees them", len(used))
	}
}

// expressions are those of the dashboard.
func expressions(t *testing.T) (all []string) {
	t.Helper()
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, dashboardFile)), &d); err != nil {
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
	if _, err := exec.LookPath("promtool"); err != nil {
		if os.Getenv("LONGSHORE_TEST_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip("promtool is not there")
	}
	if out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// Every alert is fired by a test of Prometheus's own, and Prometheus takes the rules and
// what the dashboard asks.
func TestEveryAlertFires(t *testing.T) {
	fired := map[string]bool{}
	for _, m := range regexp.MustCompile(`alertname: (\w+)\n +exp_alerts:\n +- exp_labels`).FindAllStringSubmatch(read(t, ruleTestsFile), -1) {
		fired[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(read(t, rulesFile), -1) {
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
	must(t, os.WriteFile(file, []byte(asked.String()), 0o600))
	promtool(t, "check", "rules", "--lint=none", rulesFile, file)
	promtool(t, "test", "rules", ruleTestsFile)
}

package command

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/cluster"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/turns"
	"github.com/longshore-bridge/longshore/internal/cause"
)

const (
	rulesFile     = "../../packaging/prometheus/longshore.rules.yml"
	ruleTestsFile = "../../packaging/prometheus/longshore.rules.test.yml"
	dashboardFile = "../../packaging/grafana/longshore.json"
)

// troubled is a host that has refused a request, late one whose clock is off, locked are
// assistants whose key is not accepted.
type (
	troubled struct{ operator.Host }
	late     struct{ operator.Machine }
	locked   struct{ operator.Assistants }
)

func (troubled) Refusals() map[string]int64    { return map[string]int64{"one": 1} }
func (late) ClockAhead() (time.Duration, bool) { return time.Hour, true }
func (locked) Troubles() map[cause.Cause]int64 { return map[cause.Cause]int64{cause.Key: 1} }
func (locked) Status() []turns.Status {
	return []turns.Status{{Folder: "g0", State: "waiting", Cause: cause.Key}}
}

// servedMetrics scrapes a host on which every kind of thing has happened, and returns the
// names of its metrics.
func servedMetrics(t *testing.T) map[string]bool {
	t.Helper()
	s := stage.NewSite(t, t.TempDir(), 1, "{free_disk: 1MiB}")
	h, _ := s.Start(nil, memory.New(memory.Options{Online: true}))
	local := h.Local(true)
	r := local.Running
	r.Host, r.Machine, r.Assistants = troubled{Host: r.Host}, late{r.Machine}, locked{r.Assistants}
	r.Cluster = cluster.New(cluster.Options{})
	local.Groups = operator.Fixed{{Folder: "g0", Assistant: "helper"}}
	w := httptest.NewRecorder()
	local.Health().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	served := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE ([a-z0-9_]+) `).FindAllStringSubmatch(w.Body.String(), -1) {
		served[m[1]] = true
	}
	for f, part := range map[string]string{"key_not_accepted": "assistant helper", "clock_off": "clock"} {
		if !strings.Contains(w.Body.String(), `longshore_finding{name="`+f+`",part="`+part+`"} 1`) {
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
		for _, name := range ownMetric.FindAllString(stage.Read(t, file), -1) {
			if used[name] = true; !served[name] {
				t.Errorf("%s names %s, which the host does not serve", file, name)
			}
		}
	}
	for name := range served {
		if strings.HasPrefix(name, "longshore_") && !strings.Contains(stage.Read(t, dashboardFile), name) {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
	if len(used) < 20 {
		t.Errorf("only %d metrics found: this test no longer sees them", len(used))
	}
}

package standby

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/cluster"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// Before its first look, a host said of itself without its name that nobody owns.
func TestAHostThatHasNotLookedYetSaidThatNobodyOwns(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	s := New(&config.Config{}, Options{Cluster: cluster.New(cluster.Options{Cluster: "pair", Name: "quay", Log: log}), Log: log})
	_, err := s.Answer(t.Context(), "send")
	if r := refusal.Of(err); r == nil || r.Code != "standby" || !strings.Contains(r.Message, "this host, quay, stands by: it has not read yet who owns") {
		t.Errorf("it says: %v", err)
	}
}

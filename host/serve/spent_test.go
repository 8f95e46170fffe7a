package serve

import (
	"context"
	"testing"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/keys"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// A change of tasks asked for a budget while a session held the lock of budgets and waited for a
// change of its own: nobody wrote to the state any more. A change may ask, whoever holds the lock.
func TestAskingForABudgetStoppedAllWrites(t *testing.T) {
	db := statetest.Open(t, t.TempDir())
	ledger, err := keys.OpenLedger(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	h := &Host{State: db}
	h.models = models{host: h, ledger: ledger, open: map[string]*model{}}
	now, err := live.New(&config.Config{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.Current.Set(now)
	h.models.mu.Lock()
	defer h.models.mu.Unlock()
	if err := db.Do(context.Background(), func(*state.Tx) error { h.spent("family"); return nil }, nil); err != nil {
		t.Fatal(err)
	}
}

//go:build e2e

package postgres

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

// stores are the packages that write to the state.
var stores = []string{
	"state", "blob", "outbox", "outbox/records", "inbound", "turns", "tasks", "keys", "links", "notify", "channel/journal", "channel/bot",
	"channel/web", "channel/web/history", "channel/web/session", "channel/web/webpush", "remote", "remote/calls", "remote/tokens",
}

// today returns the stores that are tested: all, or a third of them if LONGSHORE_DAY numbers a day.
func today(t *testing.T) (chosen []string) {
	t.Helper()
	number := os.Getenv("LONGSHORE_DAY")
	if number == "" {
		return stores
	}
	day, err := strconv.Atoi(number)
	if err != nil {
		t.Fatalf("LONGSHORE_DAY: %v", err)
	}
	for i, name := range stores {
		if i%3 == day%3 {
			chosen = append(chosen, name)
		}
	}
	return chosen
}

// TestTheTestsOfEveryStorePassOnPostgreSQL runs them once more, with their states in a PostgreSQL.
func TestTheTestsOfEveryStorePassOnPostgreSQL(t *testing.T) {
	s := pgtest.Start(t, "max_connections=300")
	args := []string{"test", "-count=1"}
	for _, name := range today(t) {
		args = append(args, "../../host/"+name)
	}
	run := exec.CommandContext(t.Context(), "go", args...)
	run.Env = append(os.Environ(), statetest.Postgres+"="+s.File("postgres"))
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	out, _ := s.Psql("postgres", `SELECT count(*) > 20 FROM pg_namespace WHERE nspname LIKE 't_%'`)
	if out != "t\n" {
		t.Error("the tests did not use the PostgreSQL")
	}
}

//go:build e2e

package postgres

import (
	"os"
	"os/exec"
	"testing"

	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

// stores are the packages that write to the state.
var stores = []string{
	"state", "blob", "outbox", "outbox/records", "inbound", "turns", "tasks", "keys", "links", "notify", "channel/journal", "channel/bot",
	"channel/web/history", "channel/web/session", "channel/web/webpush", "remote", "remote/calls", "remote/tokens",
}

// TestTheTestsOfEveryStorePassOnPostgreSQL runs them once more, with their states in a PostgreSQL.
func TestTheTestsOfEveryStorePassOnPostgreSQL(t *testing.T) {
	s := pgtest.Start(t, "max_connections=300")
	args := []string{"test", "-count=1"}
	for _, name := range stores {
		args = append(args, "../../host/"+name)
	}
	run := exec.CommandContext(t.Context(), "go", args...)
	run.Env = append(os.Environ(), statetest.Postgres+"="+s.File("postgres"))
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	out, _ := s.Psql("postgres", `SELECT count(*) > 100 FROM pg_namespace WHERE nspname LIKE 't_%'`)
	if out != "t\n" {
		t.Error("the tests did not use the PostgreSQL")
	}
}

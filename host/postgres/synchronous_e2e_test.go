//go:build e2e

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/postgres"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

// standby names a synchronous standby, or none, and returns once commits wait for it, or do not.
func standby(t *testing.T, s *pgtest.Server, name string) {
	t.Helper()
	if _, errs := s.Psql("postgres", fmt.Sprintf("ALTER SYSTEM SET synchronous_standby_names = '%s'; SELECT pg_reload_conf();", name)); errs != "" {
		t.Fatal(errs)
	}
	db := open(t, read(t, s.File("postgres")), postgres.Options{})
	waits := func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := db.ExecContext(ctx, `UPDATE longshore_store SET checked = checked + 1`)
		return err != nil
	}
	for over := time.Now().Add(20 * time.Second); waits() != (name != ""); {
		if time.Now().After(over) {
			t.Fatal("the server does not take up the setting")
		}
	}
}

// The server gave up its wait for the standby as the writer ended the session, and the commit was taken for one that
// the standby has.
func TestACommitThatTheSynchronousStandbyLacksWasAcknowledged(t *testing.T) {
	s := pgtest.Start(t)
	db := open(t, config(t, s), postgres.Options{Limit: time.Second})
	w := postgres.NewWriter(db)
	defer w.Close()
	must(t, w.Begin(), w.Exec(insert, []any{"before", nil, 0}), w.Commit())
	standby(t, s, "gone")
	must(t, w.Begin(), w.Exec(insert, []any{"lacking", nil, 0}))
	if err := w.Commit(); !errors.Is(err, postgres.ErrDoubtful) {
		t.Errorf("without the standby: %v", err)
	}
	w.Rollback()
	local := open(t, read(t, pgtest.Write(t, s.URL("postgres")+" options='-c synchronous_commit=local'")), postgres.Options{})
	if problem, ok := errors.AsType[*postgres.Problem](local.Ping()); !ok || !strings.Contains(problem.Error(), "synchronous_commit") {
		t.Errorf("local beside a standby: %v", problem)
	}
	standby(t, s, "")
	must(t, local.Ping(), w.Begin(), w.Exec(insert, []any{"after", nil, 0}), w.Commit())
}

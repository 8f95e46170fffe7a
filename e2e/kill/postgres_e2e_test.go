//go:build e2e

package kill

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/internal/pgtest"
	"github.com/longshore-bridge/longshore/ipc"
)

// onPostgres is a site with its state in a database of its own.
func onPostgres(t *testing.T, s *pgtest.Server, database string, dedupe bool) *crashSite {
	t.Helper()
	if _, errs := s.Psql("postgres", "CREATE DATABASE "+database); errs != "" {
		t.Fatal(errs)
	}
	return newCrashSiteOn(t, dedupe, "{directory: ./state, postgres: {from_file: "+s.File(database)+"}}")
}

func TestKilledAtEachStepOnPostgreSQL(t *testing.T) {
	server := pgtest.Start(t, "max_connections=300")
	for i, step := range []string{"copied", "recorded", "unlinked", "sending", "shown", "acknowledged", "settled", "result"} {
		for _, dedupe := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s %s", platformName(dedupe), step), func(t *testing.T) {
				t.Parallel()
				s := onPostgres(t, server, fmt.Sprintf("k%d%t", i, dedupe), dedupe)
				s.killedAt(killable{Step: step, Nth: 2}, time.Minute)
				for _, f := range s.faults() {
					t.Error(f)
				}
			})
		}
	}
}

// The server crashes and comes back while a host is at work.
func TestAPostgreSQLThatCrashesLosesNothing(t *testing.T) {
	server := pgtest.Start(t)
	s := onPostgres(t, server, "crashes", true)
	host := s.host(killable{})
	s.ask()
	folder, id, _ := strings.Cut(s.requests[0], "/")
	if _, err := ipc.NewClient(filepath.Join(s.dir, "state/ipc", folder)).Wait(t.Context(), id, nil); err != nil {
		t.Fatal(err) // the host is at work
	}
	for range 3 {
		s.ask()
		server.Stop(syscall.SIGQUIT)
		s.ask()
		server.Again()
	}
	_ = host.Process.Signal(syscall.SIGTERM)
	if err := host.Wait(); err != nil {
		t.Errorf("the host ended: %v", err)
	}
	s.settle(killable{}, time.Minute)
	for _, f := range s.faults() {
		t.Error(f)
	}
}

//go:build e2e

package postgres

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/backup"
	"github.com/longshore-bridge/longshore/host/postgres"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

// Each daily backup of a host with a lease failed: the fence came before the snapshot's BEGIN.
func TestAHostWithALeaseCouldNotBackUpItsState(t *testing.T) {
	server := pgtest.Start(t)
	if _, errs := server.Psql("postgres", `CREATE FUNCTION longshore_fence(text, bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM 1; END $$;`); errs != "" {
		t.Fatal(errs)
	}
	l := groups.Layout{State: filepath.Join(t.TempDir(), "state")}
	spec := state.Spec(l.Own(), store.Home{Installation: l.Installation(), Aside: l.Aside()})
	spec.Server = store.Server{File: server.File("postgres"), Fence: &postgres.Fence{Cluster: "pair", Number: 1}}
	db, err := state.Open(context.WithoutCancel(t.Context()), spec, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	config := filepath.Join(t.TempDir(), "longshore.yaml")
	if err := errors.Join(os.WriteFile(config, nil, 0o600), os.MkdirAll(l.Backups(), 0o700)); err != nil {
		t.Fatal(err)
	}
	o := backup.Options{Dir: l.Backups(), Config: config, Layout: l, Stores: []store.Spec{spec}, Now: time.Now()}
	r, err := backup.TakeState(t.Context(), o, db)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := backup.Verify(t.Context(), r.Dir); err != nil || len(c.Wrong)+len(c.Strange) > 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

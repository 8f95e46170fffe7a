package backup_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/backup"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// In NanoClaw v1's layout, the state is in data/, beside the groups.
func TestAStateInV1sLayoutIsRestoredBesideItsGroups(t *testing.T) {
	s := newSite(t)
	s.opts.Layout.V1 = true
	l := s.opts.Layout
	s.opts.Dir, s.opts.Now = l.Backups(), time.Now()
	db, end := statetest.Start(t, l.Own())
	s.db = db
	blob := s.stage("1")
	r := s.state()
	end()
	lost := filepath.Join(l.Own(), "lost")
	if err := os.Mkdir(lost, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"longshore.db", "blobs", "state.marker"} {
		if err := os.Rename(filepath.Join(l.Own(), name), filepath.Join(lost, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, into := range []groups.Layout{l, {State: filepath.Join(t.TempDir(), "new"), V1: true}} {
		if _, err := backup.Restore(t.Context(), backup.Restoring{Backup: r.Dir, Config: s.opts.Config, Into: installation(into)}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(into.Own(), "blobs", blob)); err != nil || into.Interrupted() != "" {
			t.Errorf("%v, %q", err, into.Interrupted())
		}
		_, end := statetest.Start(t, into.Own())
		end()
	}
	if _, err := backup.Restore(t.Context(), backup.Restoring{Backup: r.Dir, Config: s.opts.Config, Into: installation(l)}); err == nil {
		t.Error("a state was overwritten")
	}
}

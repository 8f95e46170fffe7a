//go:build e2e

package backup

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

// Both kinds of backup have a state in PostgreSQL as a file, of one moment, while others commit: what is in
// the queue or among the files when a commit has taken it out of there is in the copy of the database.
func TestAStateInPostgresIsCopiedAsOfOneMoment(t *testing.T) {
	server := pgtest.Start(t)
	l := groups.Layout{State: filepath.Join(t.TempDir(), "state")}
	spec := state.Spec(l.Own(), store.Home{Installation: l.Installation(), Aside: l.Aside()})
	spec.Server.File = server.File("postgres")
	db, err := state.Open(context.WithoutCancel(t.Context()), spec, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	queue := l.IPC("g", "messages")
	if err := os.MkdirAll(queue, 0o700); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "longshore.yaml")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var working sync.WaitGroup
	count := 0
	working.Go(func() { // a request is in the queue, and leaves it after its commit
		for ; ctx.Err() == nil; count++ {
			path := filepath.Join(queue, fmt.Sprint(count))
			if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
				t.Error(err)
				return
			}
			if _, err := db.Exec(context.WithoutCancel(ctx), `INSERT INTO served_group (folder) VALUES (?)`, fmt.Sprint(count)); err != nil {
				t.Error(err)
				return
			}
			if err := os.Remove(path); err != nil {
				t.Error(err)
				return
			}
		}
	})
	o := Options{Dir: t.TempDir(), Config: config, Layout: l, Stores: []store.Spec{spec}, Now: time.Now()}
	if err := os.MkdirAll(l.Backups(), 0o700); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		o.Now = o.Now.Add(time.Minute)
		whole, err := Take(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		daily := o
		daily.Dir = l.Backups()
		alone, err := TakeState(t.Context(), daily, db)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{whole.Dir, alone.Dir} {
			if c, err := Verify(t.Context(), dir); err != nil || len(c.Wrong)+len(c.Strange) > 0 {
				t.Errorf("%+v, %v", c, err)
			}
		}
		kept := rowsOf(t, filepath.Join(whole.Dir, "state", "longshore.db"))
		waits, err := os.ReadDir(filepath.Join(whole.Dir, "state", "ipc", "g", "messages"))
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range waits {
			kept[one.Name()] = true
		}
		for i := range len(kept) {
			if !kept[fmt.Sprint(i)] {
				t.Errorf("backup %d: request %d of %d is neither in the queue nor in the database", n, i, len(kept))
			}
		}
		if again := rowsOf(t, filepath.Join(alone.Dir, "state", "longshore.db")); len(again) < len(kept)-1 {
			t.Errorf("the later backup has %d requests, the one before had %d", len(again), len(kept))
		}
		t.Logf("%d requests; commits waited for %v", len(kept), whole.Frozen)
	}
	cancel()
	working.Wait()
	flipped := filepath.Join(o.Dir)
	all, _ := filepath.Glob(filepath.Join(flipped, "longshore-*", "state", "longshore.db"))
	bytes, err := os.ReadFile(all[0])
	if err != nil {
		t.Fatal(err)
	}
	bytes[len(bytes)/2] ^= 1
	if err := os.WriteFile(all[0], bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := Verify(t.Context(), filepath.Dir(filepath.Dir(all[0]))); err != nil || len(c.Wrong) == 0 || !strings.Contains(c.Wrong[0], "longshore.db") {
		t.Errorf("a flipped bit: %+v, %v", c, err)
	}
}

// rowsOf are the requests that a copy of the database has.
func rowsOf(t *testing.T, path string) map[string]bool {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT folder FROM served_group`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]bool{}
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			t.Fatal(err)
		}
		all[one] = true
	}
	return all
}

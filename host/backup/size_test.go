package backup_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/backup"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/host/store"
)

// sizeEnv is how many MB the state of BenchmarkDaily has: 10000 for the row in docs/operations.md.
const sizeEnv = "LONGSHORE_BENCH_STATE_MB"

// BenchmarkDaily makes a backup of a state, restores it, and looks at it, from a cold cache as far
// as this process can empty it.
func BenchmarkDaily(b *testing.B) {
	mb, _ := strconv.Atoi(os.Getenv(sizeEnv))
	mb = max(mb, 100)
	l := groups.Layout{State: filepath.Join(b.TempDir(), "state")}
	if err := os.MkdirAll(l.State, 0o700); err != nil {
		b.Fatal(err)
	}
	config := filepath.Join(b.TempDir(), "longshore.yaml")
	if err := os.WriteFile(config, []byte("state: x\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	db, end := statetest.Start(b, l.State)
	for i := range mb / 100 { // messages of the page, and small files of 12,000 bytes
		execute(b, db, `INSERT INTO page_message (channel, chat, id, key, author, sender, assistant, time, reply_to, quote, forwarded, status, file, blob, size, text, tree, short, poll)
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
			SELECT 'web', 'web:g', hex(randomblob(8)), '', '', 'Ann', 0, i, '', '', '', 'sent', '', '', 0, hex(randomblob(140)), '', hex(randomblob(20)), '' FROM n`)
		execute(b, db, `INSERT INTO bytes (id, data) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6500) SELECT ? + i, randomblob(12000) FROM n`, i*6500)
	}
	timed := func(name string, do func() error) {
		began := time.Now()
		if err := do(); err != nil {
			b.Fatal(name, err)
		}
		b.ReportMetric(time.Since(began).Seconds(), name)
	}
	var r backup.Report
	timed("s-backup", func() (err error) {
		r, err = backup.TakeState(b.Context(), backup.Options{Dir: l.Backups(), Config: config, Layout: l, Now: time.Now()}, db)
		return err
	})
	b.ReportMetric(float64(r.Bytes)/1e6, "MB")
	spec := state.Spec(l.State, store.Home{})
	timed("s-look", func() error {
		v, err := store.Look(b.Context(), spec)
		if err != nil {
			return err
		}
		return v.Close()
	})
	end()
	timed("s-look-whole", func() error { _, err := store.Examine(b.Context(), spec, true); return err })
	into := installation{State: filepath.Join(b.TempDir(), "state")}
	timed("s-restore", func() error {
		_, err := backup.Restore(b.Context(), backup.Restoring{Backup: r.Dir, Config: config, Into: into})
		return err
	})
}

// installation is the layout that a backup is restored to.
type installation groups.Layout

func (i installation) LayoutOf(string) (groups.Layout, error) { return groups.Layout(i), nil }
func (i installation) Prepare(context.Context, groups.Layout, time.Time) error {
	return nil
}

func execute(b *testing.B, db *state.DB, query string, args ...any) {
	b.Helper()
	if _, err := db.Exec(b.Context(), query, args...); err != nil {
		b.Fatal(err)
	}
}

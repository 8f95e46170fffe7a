package state_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// A blob whose record was deleted after the snapshot was deleted before it had been linked.
func TestABlobThatASnapshotNamesStaysUntilItIsLinked(t *testing.T) {
	dir := t.TempDir()
	db := statetest.Open(t, dir)
	b, err := db.Blobs.Stage(t.Context(), strings.NewReader(strings.Repeat("x", 20000)), 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, db, `INSERT INTO link (id, key, folder, channel, chat, file, size, blob, made, expires) VALUES ('a', '', '', '', '', '', 0, ?, 0, 0)`, b.Name)
	var linked []string
	one, err := db.Snapshot(t.Context(), func(path string) error {
		exec(t, db, `DELETE FROM link`) // nobody waits for the snapshot
		if err := db.Blobs.Remove(b.Name); err != nil {
			return err
		}
		linked = append(linked, path)
		_, err := os.Stat(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "blobs", b.Name); len(linked) != 1 || linked[0] != want {
		t.Errorf("linked: %q, want %q", linked, want)
	}
	if _, err := os.Stat(linked[0]); !os.IsNotExist(err) {
		t.Errorf("the blob was never deleted: %v", err)
	}
	if err := one.Close(); err != nil {
		t.Error(err)
	}
}

// BenchmarkPutWhileCopied commits one small row after another while 400 MB are copied.
func BenchmarkPutWhileCopied(b *testing.B) {
	db := statetest.Open(b, b.TempDir())
	for range 50 {
		fill(b, db, 400)
	}
	alone := time.Now()
	measure(b, db, "alone-", func() bool { return time.Since(alone) < 5*time.Second })
	one, err := db.Snapshot(b.Context(), func(string) error { return nil })
	if err != nil {
		b.Fatal(err)
	}
	defer one.Close()
	ended := make(chan error, 1)
	go func() { ended <- one.CopyTo(b.Context(), filepath.Join(b.TempDir(), "copy.db")) }()
	measure(b, db, "", func() bool { return len(ended) == 0 })
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}

// measure commits while more says so, and reports how long one commit took.
func measure(b *testing.B, db *state.DB, form string, more func() bool) {
	b.Helper()
	var took []time.Duration
	began := time.Now()
	for more() {
		at := time.Now()
		exec(b, db, `UPDATE delivery_order SET last = last + 1`)
		took = append(took, time.Since(at))
	}
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(took[len(took)/2]), form+"ms-p50")
	b.ReportMetric(ms(took[len(took)*99/100]), form+"ms-p99")
	b.ReportMetric(ms(took[len(took)-1]), form+"ms-max")
	b.ReportMetric(time.Since(began).Seconds(), form+"s")
}

package state

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/wake"
)

const (
	shrinkEvery = 10 * time.Minute
	spareFree   = 1024                 // free pages that stay, for what is written next
	stepPages   = 8                    // that SQLite gives back without a look at the clock
	stepTime    = 2 * time.Millisecond // in one change: all others wait for it who write

	foldPages = 500                   // of the log, from which on it is copied into the database
	foldPause = 20 * time.Millisecond // from a commit to the look at the log
)

// Run copies the log into the database, and gives the space of deleted rows back to the disk, now and at
// intervals, until ctx is done; PostgreSQL does that by itself. It looks after the place of the files, if there is one. The error is of a
// commit on PostgreSQL that nobody knows the end of: the process ends, and the next one reads what is there.
func (d *DB) Run(ctx context.Context, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel() // before the wait
	if d.Blobs.Shared() {
		beside.Go(func() { d.keepPlace(ctx, log) })
	}
	if d.Spec.OnServer() {
		select {
		case <-d.commit.Doubt():
			return fmt.Errorf("the host ends, so that its next start reads the state: a commit has an unknown end: %w", store.ErrDoubtful)
		case <-ctx.Done():
			return nil
		}
	}
	beside.Go(func() { d.fold(ctx, log) })
	for ok := true; ok; ok = wake.Sleep(ctx, shrinkEvery) {
		if err := d.Shrink(ctx, spareFree); err != nil && ctx.Err() == nil {
			log.Warn("the state's database was not made smaller", "error", err)
		}
	}
	return nil
}

// fold copies SQLite's log into the database beside who writes, until ctx is done. Else a commit does
// so, syncs the database, and all wait who write; that is left for a log that grows faster.
func (d *DB) fold(ctx context.Context, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.commit.Made():
		}
		if !wake.Sleep(ctx, foldPause) {
			return
		}
		var busy, pages, folded int
		err := d.QueryRowContext(ctx, "PRAGMA wal_checkpoint(NOOP)").Scan(&busy, &pages, &folded)
		if err == nil && pages-folded >= foldPages {
			_, err = d.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
		}
		if err != nil && ctx.Err() == nil {
			log.Warn("the log of the state's database was not copied into it", "error", store.Words(err))
		}
	}
}

// Shrink gives free pages of the database back until about that many are left, or until a step
// leaves no fewer: a database that somebody has repaired may give none. Between two steps it waits
// as long as one took, so that others can write.
func (d *DB) Shrink(ctx context.Context, leave int64) error {
	for last := int64(math.MaxInt64); ; {
		began := time.Now()
		var free int64
		if err := d.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&free); err != nil {
			return store.Words(err)
		}
		if free <= leave || free >= last {
			return nil
		}
		last = free
		if err := d.Do(ctx, func(t *Tx) error { return shrink(t, free-leave) }, nil); err != nil {
			return store.Words(err)
		}
		if !wake.Sleep(ctx, time.Since(began)) {
			return ctx.Err()
		}
	}
}

// shrink gives at most about that many pages back.
func shrink(t *Tx, pages int64) error {
	for began := time.Now(); pages > 0 && time.Since(began) < stepTime; pages -= stepPages {
		rows, err := t.Query("PRAGMA incremental_vacuum(8)")
		if err := Each(rows, err, func() error { return nil }); err != nil { // SQLite moves a page for each
			return err
		}
	}
	return nil
}

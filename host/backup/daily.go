package backup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/media"
)

const (
	day        = 24 * time.Hour
	firstAfter = 10 * time.Minute // a start has other things to do, and the clock may not be right yet
	retryAfter = time.Hour
	lookEvery  = time.Minute // the clock may have been set, or the newest backup be gone
)

// Plan is the daily backup that the configuration in force wants.
type Plan interface {
	// DailyBackup returns the backup's options, but for Now; false: none is wanted.
	DailyBackup() (Options, bool)
}

// Daily makes a backup of a running host's state once a day. When the next one is due follows from
// the names of those that are there.
type Daily struct {
	plan Plan
	db   *state.DB
	log  *slog.Logger
	wake chan struct{}

	mu      sync.Mutex
	last    time.Time
	problem error
	known   bool
}

// NewDaily makes no backup before Run.
func NewDaily(plan Plan, db *state.DB, log *slog.Logger) *Daily {
	return &Daily{plan: plan, db: db, log: log, wake: make(chan struct{}, 1)}
}

// Wake has Run look at the plan again.
func (d *Daily) Wake() { wake.Up(d.wake) }

// Last is when the newest good backup was made, zero if there is none, and why the latest attempt
// failed. known is false as long as Run has not seen whether a backup is due.
func (d *Daily) Last() (last time.Time, problem error, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last, d.problem, d.known
}

func (d *Daily) note(last time.Time, problem error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last, d.problem, d.known = last, problem, true
}

// Run makes backups until ctx is done.
func (d *Daily) Run(ctx context.Context) {
	d.clean()
	soonest, dir := time.Now().Add(firstAfter), ""
	for {
		o, wanted := d.plan.DailyBackup()
		if dir != "" && dir != o.Dir { // another directory may do better at once
			soonest = time.Now()
		}
		dir = o.Dir
		var wait time.Duration
		if !wanted {
			d.note(time.Time{}, nil)
			wait = lookEvery
		} else if wait = max(d.due(&o), time.Until(soonest)); wait <= 0 {
			wait = retryAfter
			soonest = time.Now().Add(wait)
			d.take(ctx, o)
		}
		select {
		case <-time.After(min(wait, lookEvery)):
		case <-d.wake:
		case <-ctx.Done():
			return
		}
	}
}

// clean deletes what a crash left of a backup.
func (d *Daily) clean() {
	o, wanted := d.plan.DailyBackup()
	if _, err := os.Stat(o.Dir); err != nil || !wanted {
		return
	}
	_, lock, err := o.enter()
	if err == nil {
		err = lock.Close()
	}
	if err != nil && !errors.Is(err, ErrBusy) {
		d.log.Warn("what is left of an interrupted backup was not deleted", "error", err)
	}
}

// due returns in how long the next backup is due, by those that are there. What cannot be read is
// due, and fails.
func (d *Daily) due(o *Options) (wait time.Duration) {
	o.Now = time.Now()
	form, _ := formOf(d.db)
	all, _ := backups(o.Dir, form)
	var last time.Time
	for _, b := range all {
		age := o.Now.Sub(b.at).Abs() // the clock may have been ahead; if by a day, the backup does not count
		if wait = max(wait, day-age); age < day || b.at.Before(o.Now) {
			last = b.at
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case wait > 0:
		d.problem, d.known = nil, true
	case last.Before(d.last):
		d.problem = fmt.Errorf("the backup of %s is not in %s any more", d.last.Local().Format(time.DateTime), o.Dir)
	}
	d.last = last
	return wait
}

func (d *Daily) take(ctx context.Context, o Options) {
	r, err := TakeState(ctx, o, d.db)
	switch {
	case err != nil && ctx.Err() != nil: // the host ends
		return
	case err != nil:
		d.log.Error("the state was not backed up", "error", err, "next", retryAfter.String())
		d.note(d.last, err)
		return
	}
	d.note(o.Now, nil)
	d.log.Info("backup of the state", "directory", r.Dir, "bytes", media.Size(r.Bytes), "files", r.Files, "deleted", len(r.Gone))
	if r.LeftOut > 0 {
		d.log.Warn("the backup lacks the larger files, which cannot be linked there", "directory", r.Dir, "files", r.LeftOut)
	}
}

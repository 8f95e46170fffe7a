package tasks

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/media"
)

// Run begins what is due until ctx is done, which is no error. It is called once. It
// first hands over again what an earlier host had claimed.
func (ts *Tasks) Run(ctx context.Context, assistants Assistants) error {
	ts.forgetHanded(ctx)
	ts.reschedule(ctx, time.Time{})
	last := ts.o.Now()
	for ctx.Err() == nil {
		now := ts.o.Now()
		if now.Before(last.Add(-look)) { // the clock was set back
			ts.reschedule(ctx, now)
		}
		last = now
		wait, any := ts.fire(ctx, assistants, now)
		var due <-chan time.Time
		if any {
			due = time.After(wait)
		}
		select {
		case <-ctx.Done():
		case <-ts.wake:
		case <-due:
		}
	}
	return nil
}

// fire claims what is due, hands it over, and returns how long to wait; any is false if
// nothing will ever be due.
func (ts *Tasks) fire(ctx context.Context, assistants Assistants, now time.Time) (wait time.Duration, any bool) {
	due, err := collect(ts.o.State.QueryContext(ctx, `SELECT `+fields+` FROM task WHERE status = 'active' AND next > 0 AND next <= ? ORDER BY next LIMIT 100`, toNano(now)))
	for _, t := range due {
		err = errors.Join(err, ts.begin(ctx, assistants, t, now))
	}
	err = errors.Join(err, ts.handOver(ctx, assistants))
	if err != nil {
		if ctx.Err() == nil {
			ts.o.Log.Error("tasks not run; they are tried again in a minute", "error", err)
		}
		return look, true
	}
	var next sql.NullInt64
	if err := ts.o.State.QueryRowContext(ctx, `SELECT min(next) FROM task WHERE status = 'active' AND next > 0`).Scan(&next); err != nil || !next.Valid {
		return look, err != nil
	}
	return min(max(0, fromNano(next.Int64).Sub(ts.o.Now())), look), true
}

// waitForGroup is how long a task that is due once waits while its group is not there, or has
// no assistant, before it is due again.
const waitForGroup = time.Hour

// begin claims a task's due time.
func (ts *Tasks) begin(ctx context.Context, assistants Assistants, t Task, now time.Time) error {
	if t.run != "" {
		if open, err := ts.start(assistants, t); err == nil && !open {
			ts.Ended(t.run) // its end was not noted
		}
	}
	spent := t.Owner != t.Folder && ts.o.Host.Spent(t.Owner) // which must not wait for a change while it holds up all others
	err := ts.within(ctx, "claim a task's run", func(tx *state.Tx) error {
		t, err := byID(tx, t.ID)
		if errors.Is(err, sql.ErrNoRows) || err == nil && (t.Status != Active || t.Next.IsZero() || t.Next.After(now)) {
			return nil // changed a moment ago
		}
		if err == nil && t.Owner != t.Folder && ts.stopped(&t, now, spent) {
			return save(tx, t)
		}
		if err == nil {
			_, err = ts.claim(tx, &t, t.Next, now)
		}
		if err != nil {
			return err
		}
		if ts.runnable(t) {
			t.advance(now, ts.o.Host.Zone(t.Folder))
		} else {
			ts.miss(&t, now)
		}
		return save(tx, t)
	})
	if err == nil {
		ts.o.Host.TasksChanged(t.Folder)
	}
	return err
}

// miss sets when a task is due next whose group is not there now. It keeps its only run.
func (ts *Tasks) miss(t *Task, now time.Time) {
	if t.Type == Once {
		t.Next = now.Add(waitForGroup)
	} else {
		t.advance(now, ts.o.Host.Zone(t.Folder))
	}
}

// spentPause is when a task is looked at again whose owner's budget has ended.
const spentPause = 10 * time.Minute

// stopped reports whether the policy keeps a task from running in another group's chat: its
// owner may have lost the right since, which pauses it, or have no budget left. If the file
// lacks one of the two groups, nothing is known of the right, and the task misses this time.
// spent says that the owner's budget is used up.
func (ts *Tasks) stopped(t *Task, now time.Time, spent bool) bool {
	registry := ts.o.Host.Registry()
	_, known := registry.ByFolder(t.Owner)
	if _, there := registry.ByFolder(t.Folder); !known || !there {
		ts.miss(t, now)
		return true
	}
	if why := registry.MayTask(t.Owner, t.Folder); why != nil {
		ts.o.Log.Warn("task paused: the group that scheduled it may not any more", "group", t.Folder, "owner", t.Owner, "task", t.ID, "reason", why)
		t.Status, t.Next = Paused, time.Time{}
		return true
	}
	if !spent {
		return false
	}
	ts.o.Log.Warn("task waits: the budget of the group that scheduled it has ended", "group", t.Folder, "owner", t.Owner, "task", t.ID)
	t.Next = now.Add(spentPause)
	return true
}

// claim notes a run, unless one is under way or the due time has had its own. The
// caller saves the task.
func (ts *Tasks) claim(tx *state.Tx, t *Task, due, now time.Time) (bool, error) {
	if !ts.runnable(*t) {
		return false, nil
	}
	if t.run != "" {
		t.Skipped++
		ts.o.Log.Warn("task skipped: its run before has not ended", "group", t.Folder, "task", t.ID, "due", due)
		return false, nil
	}
	id := runID(t.ID, due)
	n, err := tx.Changed(`INSERT INTO task_run (id, task, due, begun) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`, id, t.ID, toNano(due), toNano(now))
	if err != nil || n == 0 {
		return false, err
	}
	t.run, t.due, t.Last, t.handed, t.missed, t.Skipped = id, due, now, false, t.Skipped, 0
	err = tx.Exec(`DELETE FROM task_run WHERE task = ? AND id NOT IN (SELECT id FROM task_run WHERE task = ? ORDER BY begun DESC LIMIT 100)`, t.ID, t.ID)
	return true, err
}

func runID(task string, due time.Time) string {
	sum := sha256.Sum256([]byte(task + "\x00" + strconv.FormatInt(toNano(due), 10)))
	return hex.EncodeToString(sum[:16])
}

// advance sets when a task that was due is due next. An interval counts from the end
// of the run.
func (t *Task) advance(now time.Time, zone *time.Location) {
	s, err := Parse(t.Type, t.Value, zone)
	switch {
	case err != nil || t.Type == Once:
		t.Status, t.Next = Completed, time.Time{}
	case t.Type == Interval && t.run != "":
		t.Next = time.Time{}
	default:
		t.Next = s.Next(now)
	}
}

// runnable says whether a task's group is there, and has an assistant.
func (ts *Tasks) runnable(t Task) bool {
	g, ok := ts.o.Host.Registry().ByFolder(t.Folder)
	return ok && g.Assistant != ""
}

// forgetHanded has runs that an earlier host handed over handed over again, in case it
// died before.
func (ts *Tasks) forgetHanded(ctx context.Context) {
	if _, err := ts.o.State.Exec(ctx, `UPDATE task SET handed = 0 WHERE run <> '' AND handed = 1`); err != nil && ctx.Err() == nil {
		ts.o.Log.Error("claimed runs of tasks not read", "error", store.Words(err))
	}
}

// handOver gives claimed runs to their assistants. What fails is done again at the next
// look.
func (ts *Tasks) handOver(ctx context.Context, assistants Assistants) error {
	claimed, err := collect(ts.o.State.QueryContext(ctx, `SELECT `+fields+` FROM task WHERE run <> '' AND handed = 0`))
	for _, t := range claimed {
		if !ts.runnable(t) {
			ts.Ended(t.run)
			continue
		}
		open, failed := ts.start(assistants, t)
		if failed == nil {
			_, failed = ts.o.State.Exec(ctx, `UPDATE task SET handed = 1 WHERE id = ? AND run = ?`, t.ID, t.run)
			ts.o.Log.Info("task begun", "group", t.Folder, "task", t.ID, "due", t.due)
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("begin the run of task %s: %w", t.ID, store.Words(failed)))
		} else if !open {
			ts.Ended(t.run)
		}
	}
	return err
}

// start has the task's assistant begin the claimed run.
func (ts *Tasks) start(assistants Assistants, t Task) (open bool, err error) {
	return assistants.Task(t.Folder, t.Thread, t.run, promptOf(t, ts.o.Host.Zone(t.Folder)), t.Mode == "isolated")
}

// mark is how NanoClaw v1 begins the prompt of a scheduled task.
const mark = "[SCHEDULED TASK - The following message was sent automatically and is not coming directly from the user or group.]"

func promptOf(t Task, zone *time.Location) string {
	if s, err := Parse(t.Type, t.Value, zone); err == nil {
		zone = s.zone
	}
	prompt := mark + "\nTask " + t.Shown()
	if t.Name != "" {
		prompt += " (" + t.Name + ")"
	}
	prompt += ", due on " + InZone(t.due, zone)
	if late := t.Last.Sub(t.due); late >= 2*look {
		prompt += fmt.Sprintf(". It runs %v late, because the host did not run then; due times between are left out", late.Round(time.Minute))
	}
	if t.missed > 0 {
		prompt += fmt.Sprintf(". %s were skipped, because the run before had not ended", media.Count(t.missed, "due time"))
	}
	return prompt + ".\n\n" + t.Prompt
}

// Ended is to be called when a run has ended, however it ended. A run that is not known
// is ignored.
func (ts *Tasks) Ended(run string) {
	var folder string
	err := ts.within(context.Background(), "note the end of a task's run", func(tx *state.Tx) error {
		now := ts.o.Now()
		folder = ""
		if err := tx.Exec(`UPDATE task_run SET ended = ? WHERE id = ?`, toNano(now), run); err != nil {
			return err
		}
		t, err := scan(tx.QueryRow(`SELECT `+fields+` FROM task WHERE run = ?`, run))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		t.run, t.due, folder = "", time.Time{}, t.Folder
		if t.Status == Active && t.Next.IsZero() {
			t.advance(now, ts.o.Host.Zone(t.Folder))
		}
		return save(tx, t)
	})
	if err != nil {
		ts.o.Log.Error("end of a task's run not noted; the next due time finds it", "error", err)
	} else if folder != "" {
		ts.o.Host.TasksChanged(folder)
	}
	wake.Up(ts.wake)
}

// Reload takes up groups' other time zones.
func (ts *Tasks) Reload(ctx context.Context) {
	ts.reschedule(ctx, time.Time{})
	wake.Up(ts.wake)
}

// reschedule computes again when tasks are due whose zone was another, and after the
// clock was set back those that are due later than their schedule says: an interval's
// always, since the clock may have been set back while no host ran. What is overdue stays
// so.
func (ts *Tasks) reschedule(ctx context.Context, back time.Time) {
	now := ts.o.Now()
	all, err := collect(ts.o.State.QueryContext(ctx, `SELECT `+fields+` FROM task WHERE status = 'active' AND next > ?`, toNano(now)))
	all = slices.DeleteFunc(all, func(t Task) bool { return !ts.moved(&t, now, back) })
	for some := range slices.Chunk(all, 100) { // others may write in between
		err = errors.Join(err, ts.within(ctx, "schedule tasks anew", func(tx *state.Tx) error {
			for _, t := range some {
				t, err := byID(tx, t.ID)
				if err == nil && t.Status == Active && t.Next.After(now) && ts.moved(&t, now, back) {
					err = save(tx, t)
				}
				if err != nil && !errors.Is(err, sql.ErrNoRows) {
					return err
				}
			}
			return nil
		}))
	}
	if err != nil && ctx.Err() == nil {
		ts.o.Log.Error("tasks keep the times that they had", "error", err)
	}
}

// moved computes again when a task is due, and reports whether anything of it is another now.
func (ts *Tasks) moved(t *Task, now, back time.Time) bool {
	zone := ts.o.Host.Zone(t.Folder)
	s, err := Parse(t.Type, t.Value, zone)
	late := t.Type == Interval && err == nil && s.Next(now).Before(t.Next)
	if err != nil || t.zone == s.zone.String() && back.IsZero() && !late {
		return false
	}
	if next := s.Next(now); t.Type == Cron || t.Type == Once && !next.IsZero() || t.Type == Interval && next.Before(t.Next) {
		t.Next = next
	}
	t.zone = s.zone.String()
	return true
}

// Operate does what an operator asks for with a task: pause, resume, cancel, or run,
// which begins a run now and leaves the schedule as it is. Its errors are refusals, or
// pass.
func (ts *Tasks) Operate(ctx context.Context, id, verb string) (Answer, error) {
	var answer Answer
	err := ts.within(ctx, verb+" task", func(tx *state.Tx) error {
		t, err := get(tx, id)
		if err != nil {
			return err
		}
		switch verb {
		case "pause":
			err = pause(&t)
			answer = ts.answerOf(t, "Paused")
		case "resume":
			err = ts.resume(&t)
			answer = ts.answerOf(t, "Resumed")
		case "cancel":
			answer, err = cancelTask(tx, t)
			return err
		case "run":
			answer, err = ts.runNow(tx, &t)
		default:
			err = refuse("bad_call", "unknown: "+verb, "use pause, resume, cancel or run")
		}
		if err != nil {
			return err
		}
		return save(tx, t)
	})
	wake.Up(ts.wake)
	if err == nil {
		ts.o.Host.TasksChanged(answer.folder)
	}
	if r := refusal.Of(err); r != nil {
		return Answer{}, r
	}
	return answer, err
}

func (ts *Tasks) runNow(tx *state.Tx, t *Task) (Answer, error) {
	if t.Running {
		return Answer{}, refuse("task_running", "the task is running", "wait until it has ended")
	}
	now := ts.o.Now()
	claimed, err := ts.claim(tx, t, now, now)
	if err != nil {
		return Answer{}, err
	}
	if !claimed {
		return Answer{}, refuse("unknown_group", "the task's group is not configured, or has no assistant", "see: longshore groups list")
	}
	return Answer{folder: t.Folder, Words: "Began a run of the task " + cmp.Or(t.Name, t.ID) + "."}, nil
}

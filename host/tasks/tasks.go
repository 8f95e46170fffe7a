// Package tasks keeps the tasks that assistants schedule, and begins a turn when one is
// due. A task is a prompt with a schedule: by cron, at intervals, or once. Names and
// meanings are NanoClaw v1's.
//
// The state has the tasks, the runs that were claimed, and the answers to calls.
// [Tasks.Answer] answers assistants' calls, once for each key. [Tasks.Run] claims what
// is due: the run's id, a hash over the task and its due time, is committed before the
// assistant gets the prompt, and the assistants know a run by that id. So a due time has
// one run, whenever the host dies. Due times that pass while no host runs make one run.
// A due time at which the run before has not ended is skipped and counted.
//
// Nothing is held in memory, and one timer waits for the next due time: an
// installation without tasks does nothing here.
package tasks

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
)

// The bounds of what a group may schedule.
const (
	MaxTasks  = 50          // of a group's chat, completed ones not counted
	MaxPrompt = 8 << 10     // bytes
	MaxName   = 100         // characters
	look      = time.Minute // after which the clock is looked at again, which may have jumped
)

// Assistants begin the runs of tasks. They are given to Run, not to New: they report the
// ends of runs to the Tasks, so they are made after them.
type Assistants interface {
	// Task has a group's assistant begin a run, and is durable when it returns. The same run
	// is not begun twice; open is false if it has ended.
	Task(folder, thread, run, prompt string, isolated bool) (open bool, err error)
}

// Host is what Tasks ask and tell the host.
type Host interface {
	Registry() *groups.Registry
	Zone(folder string) *time.Location
	// Spent reports whether the budget of a group is used up. Its tasks in the chats of other
	// groups wait then.
	Spent(folder string) bool
	// TasksChanged is called after each change of the tasks in a group's chat.
	TasksChanged(folder string)
}

// Options says what Tasks work with. All but Now and Log are needed.
type Options struct {
	State *state.DB
	Host  Host
	Now   func() time.Time // nil: time.Now
	Log   *slog.Logger     // nil: none
}

// Tasks are the tasks of all groups. Its methods may be called from several goroutines.
type Tasks struct {
	o    Options
	wake chan struct{} // of capacity one: something may be due earlier
}

// New returns the tasks that a state has.
func New(o Options) *Tasks {
	if o.Now == nil {
		o.Now = func() time.Time { return time.Now().Round(0) } // the wall clock alone: it may be set back
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Tasks{o: o, wake: make(chan struct{}, 1)}
}

// List returns the tasks in a group's chat, or of all groups if folder is empty, the
// oldest first.
func (ts *Tasks) List(ctx context.Context, folder string) ([]Task, error) {
	return list(ctx, ts.o.State.DB.DB, folder, ts.o.Host.Zone)
}

// ListStored does the same without a host. spec is the state's.
func ListStored(ctx context.Context, spec store.Spec, folder string, zone func(folder string) *time.Location) (all []Task, err error) {
	view, err := store.Look(ctx, spec)
	if err != nil || view == nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	return list(ctx, view.DB, folder, zone)
}

func list(ctx context.Context, db *sql.DB, folder string, zone func(folder string) *time.Location) ([]Task, error) {
	all, err := collect(db.QueryContext(ctx, `SELECT `+fields+` FROM task WHERE ? IN ('', folder) ORDER BY created, id`, folder))
	if err != nil {
		return nil, fmt.Errorf("list tasks: %w", store.Words(err))
	}
	for i := range all {
		all[i].describe(zone(all[i].Folder))
	}
	return all, nil
}

// describe sets Words and Zone.
func (t *Task) describe(zone *time.Location) {
	s, err := Parse(t.Type, t.Value, zone)
	t.Zone = s.zone.String()
	switch {
	case err != nil:
		t.Words = "its schedule cannot be read any more: " + err.Error()
	case t.Status == Paused:
		t.Words = "paused"
	case t.Running && t.Next.IsZero():
		t.Words = "running now"
	default:
		t.Words = s.Words(t.Next)
	}
	if t.Skipped > 0 {
		t.Words += fmt.Sprintf("; skipped at %d due times, because the run before had not ended", t.Skipped)
	}
}

// get returns a task by its id, which may be shortened to an unambiguous beginning.
func get(tx *state.Tx, id string) (Task, error) {
	t, err := byID(tx, id)
	if errors.Is(err, sql.ErrNoRows) {
		return t, unknownTask(id)
	}
	return t, err
}

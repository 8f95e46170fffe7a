package tasks

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// The states of a task.
const (
	Active    = "active"
	Paused    = "paused"
	Completed = "completed" // of once: its run has begun
)

// Task is a prompt and when it runs.
type Task struct {
	ID      string    `json:"id"`
	Folder  string    `json:"group"`           // in whose chat it runs
	Owner   string    `json:"owner,omitempty"` // the group that scheduled it, if another
	Thread  string    `json:"thread,omitempty"`
	Name    string    `json:"name,omitempty"`
	Prompt  string    `json:"prompt"`
	Type    string    `json:"schedule_type"`
	Value   string    `json:"schedule_value"`
	Mode    string    `json:"context_mode"` // group or isolated
	Status  string    `json:"status"`
	Zone    string    `json:"timezone,omitempty"` // of its times
	Next    time.Time `json:"next_run,omitzero"`
	Last    time.Time `json:"last_run,omitzero"` // when its last run began
	Running bool      `json:"running,omitempty"`
	Skipped int       `json:"skipped,omitempty"` // due times of late at which the run before had not ended
	Words   string    `json:"words"`             // its schedule for people

	bound   string // the one conversation of Owner that scheduled it; empty: the whole group
	created time.Time
	zone    string
	run     string    // the id of the run under way
	due     time.Time // of that run
	handed  bool      // the assistant has it
	missed  int       // due times that were skipped before it
}

const fields = `id, folder, owner, thread, name, prompt, type, value, mode, status, zone, next, created, run, due, last, handed, skipped, missed, bound`

func scan(row interface{ Scan(...any) error }) (t Task, err error) {
	var next, created, due, last int64
	err = row.Scan(&t.ID, &t.Folder, &t.Owner, &t.Thread, &t.Name, &t.Prompt, &t.Type, &t.Value, &t.Mode, &t.Status, &t.zone,
		&next, &created, &t.run, &due, &last, &t.handed, &t.Skipped, &t.missed, &t.bound)
	t.Next, t.created, t.due, t.Last = fromNano(next), fromNano(created), fromNano(due), fromNano(last)
	t.Running = t.run != ""
	return t, err
}

func toNano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNano(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// collect reads the tasks of a query for fields.
func collect(rows *sql.Rows, err error) ([]Task, error) {
	return state.All(rows, err, func(rows *sql.Rows) (Task, error) { return scan(rows) })
}

func byID(tx *state.Tx, id string) (Task, error) {
	return scan(tx.QueryRow(`SELECT `+fields+` FROM task WHERE id = ?`, id))
}

// save writes a task, new or changed.
func save(tx *state.Tx, t Task) error {
	if err := tx.Exec(`DELETE FROM task WHERE id = ?`, t.ID); err != nil {
		return err
	}
	handed := 0
	if t.handed {
		handed = 1
	}
	err := tx.Exec(`INSERT INTO task (`+fields+`) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		t.ID, t.Folder, t.Owner, t.Thread, t.Name, t.Prompt, t.Type, t.Value, t.Mode, t.Status, t.zone,
		toNano(t.Next), toNano(t.created), t.run, toNano(t.due), toNano(t.Last), handed, t.Skipped, t.missed, t.bound)
	return err
}

// within does everything of one change in one commit. A refusal comes before do writes
// anything, so it undoes nothing of others in that commit.
func (ts *Tasks) within(ctx context.Context, what string, do func(tx *state.Tx) error) error {
	var refused error
	err := ts.o.State.Do(ctx, func(tx *state.Tx) error {
		err := do(tx)
		if refused = nil; refusal.Of(err) != nil {
			refused, err = err, nil
		}
		return err
	}, nil)
	if err = cmp.Or(err, refused); err != nil {
		return fmt.Errorf("%s: %w", what, store.Words(err))
	}
	return nil
}

// keepAnswers is for how long the answer to a call is kept: longer than its request can
// stay in the queue after a crash that no host follows for a while.
const keepAnswers = 7 * 24 * time.Hour

// answeredBefore is the answer that a call of that key had, or nil.
func answeredBefore(tx *state.Tx, key string) (json.RawMessage, error) {
	var answer []byte
	err := tx.QueryRow(`SELECT answer FROM task_answer WHERE key = ?`, key).Scan(&answer)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return answer, err
}

const insertAnswer = `INSERT INTO task_answer (key, answer, at) VALUES (?, ?, ?)`

// keepAnswer keeps an answer, and deletes some of those that are too old.
func keepAnswer(tx *state.Tx, key string, answer any, now time.Time) error {
	data, err := json.Marshal(answer)
	if err == nil {
		err = tx.Exec(insertAnswer, key, data, toNano(now))
	}
	if err == nil {
		err = tx.Exec(`DELETE FROM task_answer WHERE key IN (SELECT key FROM task_answer WHERE at < ? LIMIT 100)`, toNano(now.Add(-keepAnswers)))
	}
	return err
}

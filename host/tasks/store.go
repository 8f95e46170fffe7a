package tasks

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/host/store"
)

const schema = `
CREATE TABLE task (
	id TEXT PRIMARY KEY, folder TEXT NOT NULL, owner TEXT NOT NULL, thread TEXT NOT NULL, name TEXT NOT NULL, prompt TEXT NOT NULL,
	type TEXT NOT NULL, value TEXT NOT NULL, mode TEXT NOT NULL, status TEXT NOT NULL,
	zone TEXT NOT NULL, next INTEGER NOT NULL, created INTEGER NOT NULL,
	run TEXT NOT NULL DEFAULT '', due INTEGER NOT NULL DEFAULT 0, last INTEGER NOT NULL DEFAULT 0,
	handed INTEGER NOT NULL DEFAULT 0, skipped INTEGER NOT NULL DEFAULT 0, missed INTEGER NOT NULL DEFAULT 0,
	bound TEXT NOT NULL DEFAULT ''
);
CREATE INDEX task_due ON task (next) WHERE status = 'active' AND next > 0;
CREATE INDEX task_run ON task (run) WHERE run <> '';
CREATE INDEX task_folder ON task (folder);
CREATE TABLE run (id TEXT PRIMARY KEY, task TEXT NOT NULL, due INTEGER NOT NULL, begun INTEGER NOT NULL, ended INTEGER NOT NULL DEFAULT 0);
CREATE INDEX run_task ON run (task, begun);
CREATE TABLE answered (key TEXT PRIMARY KEY, answer BLOB NOT NULL, at INTEGER NOT NULL);
CREATE INDEX answered_at ON answered (at);`

// fromVersion1 migrates version 1 to 2. In version 1 a whole group asked for every task.
const fromVersion1 = `ALTER TABLE task ADD COLUMN bound TEXT NOT NULL DEFAULT '';`

// Store describes the store of the tasks in dir.
func Store(dir string, home store.Home) store.Spec {
	return store.Spec{
		Name: "tasks", Dir: dir, File: "tasks.db", Lock: "lock", Home: home, Schema: schema, Steps: []string{fromVersion1},
		Pragmas: []string{"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)"}, TxLock: "immediate",
	}
}

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

type scanner interface{ Scan(...any) error }

func scan(row scanner) (t Task, err error) {
	var next, created, due, last int64
	err = row.Scan(&t.ID, &t.Folder, &t.Owner, &t.Thread, &t.Name, &t.Prompt, &t.Type, &t.Value, &t.Mode, &t.Status, &t.zone,
		&next, &created, &t.run, &due, &last, &t.handed, &t.Skipped, &t.missed, &t.bound)
	t.Next, t.created, t.due, t.Last = fromMilli(next), fromMilli(created), fromMilli(due), fromMilli(last)
	t.Running = t.run != ""
	return t, err
}

func toMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

func query(ctx context.Context, q querier, where string, args ...any) (all []Task, err error) {
	rows, err := q.QueryContext(ctx, `SELECT `+fields+` FROM task `+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		t, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, rows.Err()
}

func byID(ctx context.Context, q querier, id string) (Task, error) {
	return scan(q.QueryRowContext(ctx, `SELECT `+fields+` FROM task WHERE id = ?`, id))
}

// save writes a task, new or changed.
func save(ctx context.Context, tx *sql.Tx, t Task) error {
	_, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO task (`+fields+`) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		t.ID, t.Folder, t.Owner, t.Thread, t.Name, t.Prompt, t.Type, t.Value, t.Mode, t.Status, t.zone,
		toMilli(t.Next), toMilli(t.created), t.run, toMilli(t.due), toMilli(t.Last), t.handed, t.Skipped, t.missed, t.bound)
	return err
}

// within does everything of one change in one commit.
func (ts *Tasks) within(ctx context.Context, what string, do func(tx *sql.Tx) error) error {
	tx, err := ts.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", what, store.Words(err))
	}
	defer tx.Rollback()
	if err := do(tx); err != nil {
		return fmt.Errorf("%s: %w", what, store.Words(err))
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("%s: %w", what, store.Words(err))
	}
	return nil
}

// keepAnswers is for how long the answer to a call is kept: longer than its request can
// stay in the queue after a crash that no host follows for a while.
const keepAnswers = 7 * 24 * time.Hour

// answeredBefore is the answer that a call of that key had, or nil.
func answeredBefore(ctx context.Context, q querier, key string) (json.RawMessage, error) {
	var answer []byte
	err := q.QueryRowContext(ctx, `SELECT answer FROM answered WHERE key = ?`, key).Scan(&answer)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return answer, err
}

func keepAnswer(ctx context.Context, tx *sql.Tx, key string, answer any, now time.Time) error {
	data, err := json.Marshal(answer)
	if err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO answered (key, answer, at) VALUES (?, ?, ?)`, key, data, toMilli(now))
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, `DELETE FROM answered WHERE at < ?`, toMilli(now.Add(-keepAnswers)))
	}
	return err
}

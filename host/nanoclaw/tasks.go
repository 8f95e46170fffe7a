package nanoclaw

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// Task is a scheduled task as in v1, unchecked.
type Task struct {
	ID, Folder, Prompt, Type, Value, Mode, Status string
	Script                                        bool // it ran code first
}

// maxTasks is how many tasks are read.
const maxTasks = 5000

// Tasks reads the tasks of the installation at dir that are active or paused. Without
// a database, or without its table, there are none.
func Tasks(ctx context.Context, dir string) (all []Task, err error) {
	err = readCopy(ctx, dir, "read scheduled tasks of "+databaseFile, func(ctx context.Context, db *sql.DB) error {
		all, err = readTasks(ctx, db)
		return err
	})
	return all, err
}

func readTasks(ctx context.Context, db *sql.DB) (all []Task, err error) {
	columns, err := columnsOf(ctx, db, "scheduled_tasks")
	if err != nil || !slices.Contains(columns, "schedule_value") {
		return nil, err
	}
	mode, script := "''", "0"
	if slices.Contains(columns, "context_mode") {
		mode = text("context_mode", 1<<10)
	}
	if slices.Contains(columns, "script") {
		script = "coalesce(script, '') <> ''"
	}
	return list(ctx, db, fmt.Sprintf(`SELECT %s, %s, %s, %s, %s, %s, %s, %s FROM scheduled_tasks WHERE status IN ('active', 'paused') LIMIT %d`,
		text("id", 1<<10), text("group_folder", 1<<10), text("prompt", 64<<10), text("schedule_type", 1<<10), text("schedule_value", 1<<10), mode,
		text("status", 1<<10), script, maxTasks), func(t *Task) []any {
		return []any{&t.ID, &t.Folder, &t.Prompt, &t.Type, &t.Value, &t.Mode, &t.Status, &t.Script}
	})
}

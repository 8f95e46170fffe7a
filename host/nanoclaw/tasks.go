package nanoclaw

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
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
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	tmp, err := os.MkdirTemp("", "longshore-import-")
	if err != nil {
		return nil, fmt.Errorf("copy database: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	path, err := copyDatabase(filepath.Join(dir, databaseFile), tmp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("copy database: %w", err)
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: "_pragma=trusted_schema(0)"}).String())
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if all, err = readTasks(ctx, db); err != nil {
		return nil, fmt.Errorf("read scheduled tasks of %s: %w", databaseFile, err)
	}
	return all, nil
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
	rows, err := db.QueryContext(ctx, fmt.Sprintf(`SELECT %s, %s, %s, %s, %s, %s, %s, %s FROM scheduled_tasks WHERE status IN ('active', 'paused') LIMIT %d`,
		text("id", 1<<10), text("group_folder", 1<<10), text("prompt", 64<<10), text("schedule_type", 1<<10), text("schedule_value", 1<<10), mode,
		text("status", 1<<10), script, maxTasks))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var t Task
		if err := rows.Scan(&t.ID, &t.Folder, &t.Prompt, &t.Type, &t.Value, &t.Mode, &t.Status, &t.Script); err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, rows.Err()
}

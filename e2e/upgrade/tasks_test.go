package upgrade

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/memory"
)

// TestV1TasksAreServed writes what NanoClaw 1.2.53's agent-runner writes into tasks/,
// over which messages/ is mounted in its container, and reads the snapshots.
func TestV1TasksAreServed(t *testing.T) {
	v := newV1(t)
	v.mkdir("store")
	db, err := sql.Open("sqlite", filepath.Join(v.root, "store/messages.db"))
	if err == nil {
		_, err = db.Exec(`CREATE TABLE scheduled_tasks (id TEXT PRIMARY KEY, group_folder TEXT NOT NULL, chat_jid TEXT NOT NULL, prompt TEXT NOT NULL,
			schedule_type TEXT NOT NULL, schedule_value TEXT NOT NULL, next_run TEXT, last_run TEXT, last_result TEXT, status TEXT DEFAULT 'active', created_at TEXT NOT NULL,
			context_mode TEXT DEFAULT 'isolated', script TEXT);
			INSERT INTO scheduled_tasks (id, group_folder, chat_jid, prompt, schedule_type, schedule_value, status, created_at, script) VALUES
			('task-old', 'family', 'tg:-200', 'the old report', 'cron', '0 9 * * 1', 'active', 'x', NULL),
			('task-script', 'family', 'tg:-200', 'p', 'cron', '0 9 * * 1', 'active', 'x', 'curl x'),
			('task-over', 'family', 'tg:-200', 'p', 'once', '2020-01-01T09:00:00', 'active', 'x', NULL),
			('task-done', 'family', 'tg:-200', 'p', 'once', '2020-01-01T09:00:00', 'completed', 'x', NULL)`)
	}
	if err = closing(db, err); err != nil {
		t.Fatal(err)
	}
	m := memory.New(memory.Options{Prefix: "tg:"})
	stage.StartMemory(t, v.config("assistants: {a: {agent: command, command: [cat]}}"), m)
	ids := func(folder string) string {
		var known []struct{ ID, Status string }
		b, err := os.ReadFile(filepath.Join(v.root, "data/ipc", folder, "current_tasks.json"))
		if err == nil {
			err = json.Unmarshal(b, &known)
		}
		if err != nil {
			return err.Error()
		}
		var all []string
		for _, k := range known {
			all = append(all, k.ID+" "+k.Status)
		}
		return strings.Join(all, ", ")
	}
	stage.Await(t, "the imported task", func() bool { return ids("family") == "task-old active" })
	n := 0
	drop := func(folder, body string) {
		t.Helper()
		n++
		v.write(body, filepath.Join("data/ipc", folder, "messages", time.Now().Format("20060102150405")+"-k3x9a"+string(rune('a'+n))+".json"))
	}
	const id = `"taskId":"task-1776500000000-k3x9ad"`
	drop("family", `{"type":"schedule_task",`+id+`,"prompt":"remind","schedule_type":"cron","schedule_value":"0 8 * * *","context_mode":"group","targetJid":"tg:-200","createdBy":"family","timestamp":"2026-04-18T09:00:00.000Z"}`)
	stage.Await(t, "the task", func() bool { return ids("family") == "task-old active, task-1776500000000-k3x9ad active" })
	drop("family", `{"type":"pause_task",`+id+`,"groupFolder":"family","isMain":false,"timestamp":"2026-04-18T09:00:00.000Z"}`)
	stage.Await(t, "its pause", func() bool { return strings.HasSuffix(ids("main"), "k3x9ad paused") })
	drop("main", `{"type":"cancel_task",`+id+`,"groupFolder":"main","isMain":true,"timestamp":"2026-04-18T09:00:00.000Z"}`)
	stage.Await(t, "its end", func() bool { return ids("main") == "task-old active" && ids("family") == "task-old active" })
	drop("main", `{"type":"refresh_groups","groupFolder":"main","timestamp":"2026-04-18T09:00:00.000Z"}`)
}

func closing(db *sql.DB, err error) error {
	if err != nil {
		return err
	}
	return db.Close()
}

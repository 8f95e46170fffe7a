package command

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/ipc"
)

// runLine runs a command line in this process.
func runLine(t *testing.T, file string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), "", allPlatforms(), append([]string{"-c", file}, args...), strings.NewReader(""), &out, &errs)
	return out.String(), errs.String(), code
}

// ask makes a call as an assistant's tool does, and waits for its answer.
func askHost(t testing.TB, l groups.Layout, folder string, r ipc.Request) ipc.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client := ipc.NewClient(l.IPC(folder, ""))
	id, err := client.Enqueue(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := client.Wait(ctx, id, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestATaskFromItsRequestToTheChat: an assistant schedules it, the operator runs it,
// and the answer is in the chat.
func TestATaskFromItsRequestToTheChat(t *testing.T) {
	m := memory.New(memory.Options{})
	h := startMemory(t, echo, m)
	file := h.Config().File
	got := askHost(t, h.Layout, "family", ipc.Request{Type: ipc.TypeScheduleTask, Prompt: "water the plants", ScheduleType: "cron", ScheduleValue: "0 9 1 1 *", Name: "plants"})
	var answer tasks.Answer
	if err := json.Unmarshal(got.Data, &answer); err != nil || got.Status != ipc.Done || answer.Task == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	if bad := askHost(t, h.Layout, "family", ipc.Request{Type: ipc.TypeScheduleTask, Prompt: "x", ScheduleType: "cron", ScheduleValue: "soon"}); bad.Code != "invalid_schedule" || bad.Hint == "" {
		t.Errorf("%+v", bad)
	}
	await(t, "the control socket", func() bool {
		return operator.NewClient(operator.ControlDir(h.Layout)).Health(t.Context()) == nil
	})
	id := answer.Task.ID
	for _, tt := range []struct{ args, want string }{
		{"tasks list", id}, {"tasks list --group Family", "plants"}, {"tasks show " + id, "water the plants"}, {"tasks list --json", `"schedule_value": "0 9 1 1 *"`},
		{"tasks pause " + id, "Paused the task plants"}, {"tasks resume " + id, "Resumed the task plants"}, {"tasks run " + id, "Began a run"},
	} {
		out, errs, code := runLine(t, file, strings.Fields(tt.args)...)
		if code != exitOK || !strings.Contains(out, tt.want) {
			t.Errorf("%s: %d, %q, %q", tt.args, code, out, errs)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	shown, err := m.WaitShown(ctx, "mem:family", 1)
	if err != nil || !strings.Contains(shown[0].Text, "[SCHEDULED TASK") || !strings.Contains(shown[0].Text, "water the plants") {
		t.Fatalf("%+v, %v", shown, err)
	}
	if out, _, code := runLine(t, file, "tasks", "cancel", id); code != exitOK || !strings.Contains(out, "Cancelled") {
		t.Errorf("%d, %q", code, out)
	}
	if _, errs, code := runLine(t, file, "tasks", "cancel", id); code == exitOK || !strings.Contains(errs, "no task has the id") {
		t.Errorf("%d, %q", code, errs)
	}
}

// TestAKilledHostRunsATaskOnce kills a host after it has claimed a due time, and the
// next one after the assistant has it. The member gets one answer.
func TestAKilledHostRunsATaskOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	s := newCrashSite(t, true)
	text := strings.ReplaceAll("state: ./state\nassistants:\n  echo: {agent: command, command: [cat]}\ngroups:\n  - {name: G0, folder: g0, chat: \"mem:g0\", assistant: echo, gather: {after: 0s}}\n", "\t", "")
	if err := os.WriteFile(s.config(), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(s.config(), allPlatforms())
	if err != nil {
		t.Fatal(err)
	}
	registry, err := groups.NewRegistry(cfg.Groups)
	if err != nil {
		t.Fatal(err)
	}
	schedule(t, cfg, registry)
	for _, step := range []string{"task claimed", "task begun"} {
		cmd := s.host(killable{Step: step, Nth: 1})
		if err := cmd.Wait(); err == nil {
			t.Fatalf("the host was to die at %q", step)
		}
	}
	cmd := s.host(killable{})
	await(t, "the answer", func() bool { return len(s.platform.all()) > 0 })
	await(t, "the end of the run", func() bool {
		all, err := operator.NewClient(operator.ControlDir(cfg.Layout())).Tasks(t.Context(), "")
		return err == nil && len(all) == 1 && !all[0].Running
	})
	cmd.Process.Signal(os.Interrupt)
	cmd.Process.Kill()
	cmd.Wait()
	if shown := s.platform.all(); len(shown) != 1 {
		t.Errorf("the chat shows %d answers", len(shown))
	}
}

// schedule leaves a task that is due now.
func schedule(t *testing.T, cfg *config.Config, registry *groups.Registry) {
	t.Helper()
	ts, err := tasks.Open(t.Context(), tasks.Options{
		Dir: cfg.Layout().Channel("tasks"), Home: serve.HomeOf(cfg), Groups: func() *groups.Registry { return registry }, Zone: func(string) *time.Location { return cfg.Zone(groups.Group{}) },
		Now: func() time.Time { return time.Now().Add(-time.Hour) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer ts.Close()
	due := time.Now().Add(-time.Minute).Format(time.RFC3339)
	_, err = ts.Answer(t.Context(), tasks.Call{Key: "k", From: registry.Asker("g0", ""), Request: ipc.Request{Type: ipc.TypeScheduleTask, Prompt: "water the plants", ScheduleType: "once", ScheduleValue: due}})
	if err != nil {
		t.Fatal(err)
	}
}

// all is what members see.
func (p *platform) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.shown...)
}

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
	startMemory(t, v.config("assistants: {a: {agent: command, command: [cat]}}"), m)
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
	await(t, "the imported task", func() bool { return ids("family") == "task-old active" })
	n := 0
	drop := func(folder, body string) {
		t.Helper()
		n++
		v.write(body, filepath.Join("data/ipc", folder, "messages", time.Now().Format("20060102150405")+"-k3x9a"+string(rune('a'+n))+".json"))
	}
	const id = `"taskId":"task-1776500000000-k3x9ad"`
	drop("family", `{"type":"schedule_task",`+id+`,"prompt":"remind","schedule_type":"cron","schedule_value":"0 8 * * *","context_mode":"group","targetJid":"tg:-200","createdBy":"family","timestamp":"2026-04-18T09:00:00.000Z"}`)
	await(t, "the task", func() bool { return ids("family") == "task-old active, task-1776500000000-k3x9ad active" })
	drop("family", `{"type":"pause_task",`+id+`,"groupFolder":"family","isMain":false,"timestamp":"2026-04-18T09:00:00.000Z"}`)
	await(t, "its pause", func() bool { return strings.HasSuffix(ids("main"), "k3x9ad paused") })
	drop("main", `{"type":"cancel_task",`+id+`,"groupFolder":"main","isMain":true,"timestamp":"2026-04-18T09:00:00.000Z"}`)
	await(t, "its end", func() bool { return ids("main") == "task-old active" && ids("family") == "task-old active" })
	drop("main", `{"type":"refresh_groups","groupFolder":"main","timestamp":"2026-04-18T09:00:00.000Z"}`)
}

func closing(db *sql.DB, err error) error {
	if err != nil {
		return err
	}
	return db.Close()
}

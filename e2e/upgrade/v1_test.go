package upgrade

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/ipc"
)

// v1 is the root of a NanoClaw v1 installation that its own host has used.
type v1 struct {
	*testing.T
	root string
}

func newV1(t *testing.T) v1 {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	v := v1{t, filepath.Join(root, "nanoclaw")}
	for _, folder := range []string{"main", "family"} {
		for _, dir := range []string{"messages", "tasks", "input"} {
			v.mkdir("data/ipc", folder, dir)
		}
		v.mkdir("groups", folder, "logs")
		v.mkdir("data/sessions", folder, ".claude")
	}
	v.mkdir("groups/global")
	v.write("[{\"id\":\"task-1\"}]", "data/ipc/family/current_tasks.json")
	return v
}

func (v v1) mkdir(parts ...string) {
	v.Helper()
	if err := os.MkdirAll(filepath.Join(append([]string{v.root}, parts...)...), 0o755); err != nil {
		v.Fatal(err)
	}
}

// write makes a file as v1's agents do: whole, under another name, renamed.
func (v v1) write(text string, path string) {
	v.Helper()
	v.mkdir(filepath.Dir(path))
	path = filepath.Join(v.root, path)
	err := os.WriteFile(path+".tmp", []byte(text), 0o644)
	if err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err != nil {
		v.Fatal(err)
	}
}

func (v v1) config(assistant string) string {
	return fmt.Sprintf(`
state: %q
project: %q
layout: v1
%s
groups:
  - {name: Main, folder: main, chat: "tg:100", main: true}
  - {name: Family, folder: family, chat: "tg:-200"%s}
`, v.root, v.root, assistant, map[bool]string{true: ", assistant: a, gather: {after: 0s}"}[assistant != ""])
}

// v1Request is one shape of a request, and what the chat shows of it.
type v1Request struct{ name, path, body, shown string }

// v1Requests are what v1 and its forks write, each into the directory of the
// group "family".
var v1Requests = []v1Request{
	{"v1's message", "messages/1771600000000-ab12.json",
		`{"type":"message","chatJid":"tg:-200","text":"from v1","groupFolder":"family","timestamp":"2026-02-20T00:00:00.000Z"}`, "from v1"},
	{"v1's message of a persona", "messages/1771600000001-ab12.json",
		`{"type":"message","chatJid":"tg:-200","text":"from a persona","sender":"Researcher","groupFolder":"family","timestamp":"2026-02-20T00:00:00.000Z"}`, "from a persona"},
	{"a file", "messages/1771600000002-ab12.json",
		`{"type":"file","chatJid":"tg:-200","groupFolder":"family","filePath":"/workspace/group/a.txt","fileName":"one.txt","mimeType":"text/plain","caption":"cap","timestamp":"x"}`, bearing("one.txt", "a")},
	{"a file in small letters", "messages/1771600000003-ab12.json",
		`{"type":"file","chatJid":"tg:-200","filePath":"/workspace/group/a.txt","filename":"two.txt","mimetype":"text/plain","timestamp":"x"}`, bearing("two.txt", "a")},
	{"send_file", "messages/1771600000004-ab12.json",
		`{"type":"send_file","chatJid":"tg:-200","filePath":"/workspace/group/b.txt","caption":"b","groupFolder":"family","timestamp":"x"}`, bearing("b.txt", "b")},
	{"send_file that wants an answer of its own", "messages/1771600000008-ab12.json",
		`{"type":"send_file","chatJid":"tg:-200","filePath":"/workspace/group/a.txt","filename":"three.txt","mimetype":"text/plain","responseFile":"/workspace/ipc/responses/1.json","groupFolder":"family","timestamp":"x"}`, bearing("three.txt", "a")},
	{"a message with paths", "messages/1771600000005-ab12.json",
		`{"type":"message","chatJid":"tg:-200","text":"","files":["/workspace/group/c.txt"],"fileComment":"see","groupFolder":"family","timestamp":"x"}`, bearing("c.txt", "c")},
	{"a message with staged files", "messages/1771600000006-ab12.json",
		`{"type":"message","chatJid":"tg:-200","text":"with this","files":[{"path":"/workspace/ipc/outbound_files/k3/d.txt","filename":"d.txt","mimetype":"text/plain"}],"groupFolder":"family","timestamp":"x"}`, bearing("d.txt", "d")},
	{"send_files", "files/1771600000007-ab12.json",
		`{"type":"send_files","chatJid":"tg:-200","files":[{"path":"/workspace/group/e.txt","name":"e.txt"}],"timestamp":"x"}`, bearing("e.txt", "e")},
}

// TestV1RequestsOfAllShapesAreServed runs a host over a v1 directory in which
// requests already lie.
func TestV1RequestsOfAllShapesAreServed(t *testing.T) {
	v := newV1(t)
	for _, name := range []string{"a", "b", "c", "e"} {
		v.write(name, "groups/family/"+name+".txt")
	}
	v.write("d", "data/ipc/family/outbound_files/k3/d.txt")
	for _, r := range v1Requests {
		v.write(r.body, "data/ipc/family/"+r.path)
	}
	const task = `{"type":"schedule_task","prompt":"x"}`
	v.write(task, "data/ipc/family/tasks/1771600000000-zz99.json")
	v.write(`{"type":"message","chatJid":"tg:100","text":"to another's chat","groupFolder":"family","timestamp":"x"}`,
		"data/ipc/family/messages/1771600000099-evil.json")
	v.write(`{"type":"message","chatJid":"tg:-200","text":"from main","groupFolder":"main","timestamp":"x"}`,
		"data/ipc/main/messages/1771600000000-main.json")

	m := memory.New(memory.Options{Prefix: "tg:"})
	h := stage.StartMemory(t, v.config(""), m)
	ctx, cancel := context.WithTimeout(t.Context(), stage.Patience)
	defer cancel()
	client := ipc.NewClient(h.Layout.IPC("family", ""))
	for _, r := range v1Requests {
		id := strings.TrimSuffix(filepath.Base(r.path), ".json")
		if got, err := client.Wait(ctx, id, nil); err != nil || got.Status != ipc.Sent {
			t.Errorf("%s: %+v, %v", r.name, got, err)
		}
	}
	if got, err := client.Wait(ctx, "1771600000099-evil", nil); err != nil || got.Code != groups.CodeChatNotAllowed {
		t.Errorf("to another group's chat: %+v, %v", got, err)
	}
	if got, err := ipc.NewClient(h.Layout.IPC("main", "")).Wait(ctx, "1771600000000-main", nil); err != nil || got.Status != ipc.Sent {
		t.Errorf("main to another chat: %+v, %v", got, err)
	}
	var shown []string
	for _, s := range m.Shown("tg:-200") {
		shown = append(shown, showing(s))
	}
	for _, r := range v1Requests {
		if n := countOf(shown, r.shown); n != 1 {
			t.Errorf("%s: %q is in the chat %d times; it shows %q", r.name, r.shown, n, shown)
		}
	}
	if n := countOf(shown, "from main"); n != 1 || len(m.Shown("tg:100")) != 0 {
		t.Errorf("from main: %d times; main's own chat shows %d", n, len(m.Shown("tg:100")))
	}
	if b, err := os.ReadFile(filepath.Join(v.root, "data/ipc/family/tasks/1771600000000-zz99.json")); err != nil || string(b) != task {
		t.Errorf("the task request is %q, %v; it is not this host's", b, err)
	}
	if _, err := os.Stat(filepath.Join(v.root, "data/ipc/errors/family-1771600000099-evil.json")); err != nil {
		t.Errorf("the refused request: %v", err)
	}
}

func showing(s memory.Seen) string {
	if s.File == nil {
		return s.Text
	}
	return s.File.Name + ":" + s.File.SHA256
}

// bearing is how showing tells of a file with this content.
func bearing(name, content string) string {
	return fmt.Sprintf("%s:%x", name, sha256.Sum256([]byte(content)))
}

func countOf(all []string, one string) int {
	return len(slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s != one }))
}

func TestV1SnapshotsTellWhatThisHostKnows(t *testing.T) {
	v := newV1(t)
	m := memory.New(memory.Options{Prefix: "tg:"})
	h := stage.StartMemory(t, v.config(""), m)
	ctx, cancel := context.WithTimeout(t.Context(), stage.Patience)
	defer cancel()
	client := ipc.NewClient(h.Layout.IPC("main", ""))
	id, err := client.Enqueue(ctx, ipc.Request{Type: ipc.TypeMessage, Text: "the host runs"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Wait(ctx, id, nil); err != nil {
		t.Fatal(err)
	}
	for folder, chats := range map[string]int{"main": 2, "family": 0} {
		var known struct{ Groups []struct{ JID, Name string } }
		var tasks []any
		for name, to := range map[string]any{"available_groups.json": &known, "current_tasks.json": &tasks} {
			b, err := os.ReadFile(filepath.Join(v.root, "data/ipc", folder, name))
			if err == nil {
				err = json.Unmarshal(b, to)
			}
			if err != nil {
				t.Errorf("%s of %s: %v", name, folder, err)
			}
		}
		if len(known.Groups) != chats || len(tasks) != 0 {
			t.Errorf("%s is told of the groups %+v and the tasks %v", folder, known.Groups, tasks)
		}
	}
}

// TestV1AssistantInTheProcessRuntime starts an assistant that does what v1's
// agent-runner does with its directories.
func TestV1AssistantInTheProcessRuntime(t *testing.T) {
	v := newV1(t)
	script := strings.Join([]string{
		`cd "$LONGSHORE_IPC"`,
		`mkdir -p outbound_files/q1`,
		`printf made > outbound_files/q1/made.txt`,
		`printf '{"type":"message","chatJid":"%s","text":"","files":[{"path":"/workspace/ipc/outbound_files/q1/made.txt","filename":"made.txt","mimetype":"text/plain"}],"groupFolder":"%s","timestamp":"x"}' "$LONGSHORE_CHAT_JID" "$LONGSHORE_GROUP_FOLDER" > messages/1.json.tmp`,
		`mv messages/1.json.tmp messages/1.json`,
		`echo done`,
	}, "; ")
	m := memory.New(memory.Options{Prefix: "tg:"})
	stage.StartMemory(t, v.config(fmt.Sprintf("assistants:\n  a: {agent: command, command: [sh, -c, %q]}", script)), m)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	if err := m.Say(ctx, channel.Inbound{Chat: "tg:-200", Text: "make it"}); err != nil {
		t.Fatal(err)
	}
	seen, err := m.WaitShown(ctx, "tg:-200", 2)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{showing(seen[0]), showing(seen[1])}
	slices.Sort(got)
	if !slices.Equal(got, []string{"done", bearing("made.txt", "made")}) {
		t.Errorf("the chat shows %q", got)
	}
}

// TestV1CanBeGoneBackTo wants a host to leave nothing in a v1 directory that
// v1 would take for its own.
func TestV1CanBeGoneBackTo(t *testing.T) {
	v := newV1(t)
	v.mkdir("store/auth")
	before := v.tree()
	m := memory.New(memory.Options{Prefix: "tg:"})
	h := stage.StartMemory(t, v.config(""), m)
	ctx, cancel := context.WithTimeout(t.Context(), stage.Patience)
	defer cancel()
	client := ipc.NewClient(h.Layout.IPC("family", ""))
	id, err := client.Enqueue(ctx, ipc.Request{Type: ipc.TypeMessage, Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := client.Wait(ctx, id, nil); err != nil || r.Status != ipc.Sent {
		t.Fatalf("%+v, %v", r, err)
	}
	ours := []string{"data/installation", "data/audit", "data/outbox", "data/logs", "data/web", "data/inbound", "data/longshore.db", "data/longshore.db-wal", "data/longshore.db-shm", "data/state.marker", "data/longshore.lock", "data/blobs", "data/longshore.sock", "data/ipc/errors"}
	for _, folder := range []string{"main", "family"} {
		for _, name := range []string{"files", "results", "context", "available_groups.json"} {
			ours = append(ours, filepath.Join("data/ipc", folder, name))
		}
	}
	ours = append(ours, "data/ipc/main/current_tasks.json")
	after := v.tree()
	for path := range after {
		known := slices.ContainsFunc(ours, func(o string) bool { return path == o || strings.HasPrefix(path, o+"/") })
		if !before[path] && !known {
			t.Errorf("%s is new", path)
		}
	}
	for path := range before {
		if !after[path] {
			t.Errorf("%s is gone", path)
		}
	}
}

// tree is every path below the root.
func (v v1) tree() map[string]bool {
	v.Helper()
	all := map[string]bool{}
	err := filepath.WalkDir(v.root, func(path string, _ os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil // a host that runs takes temporary files away
		}
		rel, _ := filepath.Rel(v.root, path)
		all[rel] = true
		return err
	})
	if err != nil {
		v.Fatal(err)
	}
	return all
}

// TestImportedV1IsServed takes the whole way: a registry is imported, and what
// was written serves the directory.
func TestImportedV1IsServed(t *testing.T) {
	v := newV1(t)
	v.write(`{"web:me": {"name":"Me","folder":"main","trigger":"@Andy","added_at":"x"},
		"web:family": {"name":"Family","folder":"family","trigger":"@Andy","added_at":"x"}}`, "data/registered_groups.json")
	v.write("a", "groups/family/a.txt")
	v.write(`{"type":"file","chatJid":"web:family","groupFolder":"family","filePath":"/workspace/group/a.txt","timestamp":"x"}`,
		"data/ipc/family/messages/1771600000000-ab12.json")
	file := filepath.Join(t.TempDir(), "longshore.yaml")
	if out, code := stage.Command(t, "import", "nanoclaw", v.root, "--apply", "--to", file); code != stage.ExitOK {
		t.Fatalf("import ended with %d: %s", code, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const container = "    runtime: docker\n    agent: claude\n    image: \"nanoclaw-agent:latest\"\n"
	here := strings.Replace(string(text), container, "    agent: command\n    command: [echo, hello]\n", 1) // no engine in this test
	if here == string(text) {
		t.Fatalf("the assistant is not the container that v1 runs:\n%s", text)
	}
	m := memory.New(memory.Options{Prefix: "web:"})
	stage.StartMemory(t, here, m)
	ctx, cancel := context.WithTimeout(t.Context(), stage.Patience)
	defer cancel()
	seen, err := m.WaitShown(ctx, "web:family", 1)
	if err != nil || showing(seen[0]) != bearing("a.txt", "a") {
		t.Fatalf("the chat shows %v, %v", seen, err)
	}
	for _, said := range []channel.Inbound{{Chat: "web:family", Text: "not for the assistant"}, {Chat: "web:me", Text: "main needs no trigger"}} {
		if err := m.Say(ctx, said); err != nil {
			t.Fatal(err)
		}
	}
	if seen, err = m.WaitShown(ctx, "web:me", 1); err != nil || seen[0].Text != "hello" {
		t.Errorf("main's chat shows %v, %v", seen, err)
	}
	if err := m.Say(ctx, channel.Inbound{Chat: "web:family", Text: "what do you say, @andy?"}); err != nil {
		t.Fatal(err)
	}
	if seen, err = m.WaitShown(ctx, "web:family", 2); err != nil || seen[1].Text != "hello" {
		t.Errorf("the family's chat shows %v, %v", seen, err)
	}
}

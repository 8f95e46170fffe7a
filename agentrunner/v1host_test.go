package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// v1Host plays the host of a NanoClaw v1 fork that can send files: a loop
// over data/ipc/<folder>/messages that reads, checks what it knows, does it,
// and unlinks.
type v1Host struct {
	*testing.T
	root string
	file string      // what the fork calls the request of a file
	sent chan string // what the chat shows
	lost chan string // requests that v1 deletes without a word
}

const v1Folder, v1Chat = "family", "123@g.us"

func startV1Host(t *testing.T) *v1Host {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &v1Host{T: t, root: root, file: "file", sent: make(chan string, 100), lost: make(chan string, 100)}
	for _, dir := range []string{h.ipc("messages"), h.ipc("tasks"), h.ipc("input"), h.workspace()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				h.pass()
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-stopped })
	return h
}

func (h *v1Host) ipc(parts ...string) string {
	return filepath.Join(append([]string{h.root, "data/ipc", v1Folder}, parts...)...)
}

func (h *v1Host) workspace() string { return filepath.Join(h.root, "groups", v1Folder) }

// pass is one round of the loop, in the order that the directory has.
func (h *v1Host) pass() {
	dir, err := os.Open(h.ipc("messages"))
	if err != nil {
		h.Error(err)
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if !strings.HasSuffix(name, ".json") {
			continue
		}
		path := h.ipc("messages", name)
		text, err := os.ReadFile(path)
		var data map[string]any
		if err == nil {
			err = json.Unmarshal(text, &data)
		}
		if err != nil {
			h.Errorf("%s: %v", name, err) // v1 moves it to errors/
		} else if words, ok := h.serve(data); ok {
			h.sent <- words
		} else {
			h.lost <- string(text)
		}
		if err := os.Remove(path); err != nil {
			h.Error(err)
		}
	}
}

// serve does what v1 and the first fork that sends files know. The source is
// the directory; the chat must be the group's.
func (h *v1Host) serve(data map[string]any) (string, bool) {
	text := func(key string) string { s, _ := data[key].(string); return s }
	if text("chatJid") != v1Chat {
		return "", false
	}
	switch text("type") {
	case "message":
		return text("text"), text("text") != ""
	case h.file:
		path, ok := strings.CutPrefix(text("filePath"), "/workspace/group/")
		local := filepath.Join(h.workspace(), path)
		if !ok {
			path, ok = strings.CutPrefix(text("filePath"), "/workspace/ipc/")
			local = h.ipc(path)
		}
		bytes, err := os.ReadFile(local)
		if !ok || err != nil || text("groupFolder") != v1Folder || text("timestamp") == "" {
			return "", false
		}
		if text("mimeType") == "" {
			return "", false // it would go as a mere attachment
		}
		return fmt.Sprintf("%s (%s): %.4s", text("fileName"), text("caption"), bytes), true
	}
	return "", false
}

// next is what the chat shows next.
func (h *v1Host) next() string {
	h.Helper()
	select {
	case words := <-h.sent:
		return words
	case request := <-h.lost:
		h.Fatalf("v1 deletes without a word: %s", request)
	case <-time.After(2 * time.Minute):
		h.Fatal("nothing came")
	}
	return ""
}

func (h *v1Host) env() []string {
	mounts, err := json.Marshal([]map[string]any{{"path": "/workspace/group", "local": h.workspace()}})
	if err != nil {
		h.Fatal(err)
	}
	return append(os.Environ(), "LONGSHORE_IPC="+h.ipc(), "LONGSHORE_MOUNTS="+string(mounts))
}

// follow writes a follow-up as v1 does.
func (h *v1Host) follow(name, body string) {
	h.Helper()
	path := h.ipc("input", name)
	err := os.WriteFile(path+".tmp", []byte(body), 0o644)
	if err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err != nil {
		h.Fatal(err)
	}
}

// v1Output is what v1 reads between the markers.
type v1Output struct {
	Status       string
	Result       *string
	NewSessionID string `json:"newSessionId"`
	Error        string
}

// v1Outputs parses the stream as v1 does.
func v1Outputs(t *testing.T, stdout io.Reader) <-chan v1Output {
	all := make(chan v1Output, 100)
	go func() {
		defer close(all)
		inside, body := false, ""
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			switch line := lines.Text(); {
			case line == "---NANOCLAW_OUTPUT_START---":
				inside, body = true, ""
			case line == "---NANOCLAW_OUTPUT_END---":
				inside = false
				var o v1Output
				if err := json.Unmarshal([]byte(body), &o); err != nil {
					t.Errorf("output %q: %v", body, err)
				}
				all <- o
			case inside:
				body += line
			}
		}
	}()
	return all
}

func answer1(t *testing.T, outputs <-chan v1Output) string {
	t.Helper()
	for {
		select {
		case o, ok := <-outputs:
			if !ok || o.Status != "success" {
				t.Fatalf("output %+v", o)
			}
			if o.Result != nil {
				return *o.Result
			}
		case <-time.After(2 * time.Minute):
			t.Fatal("no output came")
		}
	}
}

// TestEntryPointUnderAV1Host starts the program as v1 starts its agent-runner
// and holds a conversation with it.
func TestEntryPointUnderAV1Host(t *testing.T) {
	h := startV1Host(t)
	h.follow("_close", "") // stale: of the session before
	cmd := exec.Command(program(t), "run", "--agent", "sample")
	cmd.Env, cmd.Dir = h.env(), h.workspace()
	start, err := json.Marshal(map[string]any{"prompt": "<context timezone=\"UTC\" />\n<messages>\n<message sender=\"Ada\" time=\"now\">@Andy send me the report</message>\n</messages>",
		"groupFolder": v1Folder, "chatJid": v1Chat, "isMain": false, "assistantName": "Andy", "secrets": map[string]string{}, "script": ""})
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = strings.NewReader(string(start))
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	outputs := v1Outputs(t, stdout)

	files := []string{h.next(), h.next()} // v1 takes them in no certain order
	slices.Sort(files)
	if !strings.HasPrefix(files[0], "harbour-week.pdf (") || !strings.HasSuffix(files[0], "%PDF") ||
		!strings.HasPrefix(files[1], "harbour-week.png (") || !strings.HasSuffix(files[1], "PNG") {
		t.Errorf("the chat shows %q", files)
	}
	if got := answer1(t, outputs); !strings.Contains(got, "no receipts") && !strings.Contains(got, "report") {
		t.Errorf("it answers %q", got)
	}
	h.follow("1771600000000-ab12.json", `{"type":"message","text":"<messages>\n<message sender=\"Ada\" time=\"now\">say hello there</message>\n</messages>"}`)
	if got := h.next(); got != "hello there" {
		t.Errorf("the chat shows %q", got)
	}
	h.follow("_close", "")
	for range outputs {
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if left, err := os.ReadDir(h.ipc("input")); err != nil || len(left) != 0 {
		t.Errorf("input/ still holds %v, %v", left, err)
	}
	select {
	case request := <-h.lost:
		t.Errorf("v1 deletes without a word: %s", request)
	default:
	}
}

// TestSendUnderAV1HostIsHonest sends what v1 can open and what must be copied
// first, and wants no more said than is known.
func TestSendUnderAV1HostIsHonest(t *testing.T) {
	h := startV1Host(t)
	temp := t.TempDir()
	outside := filepath.Join(temp, "b.txt")
	for path, text := range map[string]string{filepath.Join(h.workspace(), "a.txt"): "aaaa", outside: "bbbb"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program(t), "send", "a.txt", outside, "--caption", "both")
	cmd.Env, cmd.Dir = append(h.env(), "NANOCLAW_CHAT_JID="+v1Chat, "NANOCLAW_GROUP_FOLDER="+v1Folder, "NANOCLAW_IS_MAIN=0", "TMPDIR="+temp), h.workspace()
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 5 {
		t.Errorf("it ended with %v, not as queued", err)
	}
	if words := string(out); !strings.Contains(words, "Queued") || !strings.Contains(words, "no receipts") || strings.Contains(words, "Sent ") {
		t.Errorf("it says %q", words)
	}
	got := []string{h.next(), h.next()}
	slices.Sort(got)
	if want := []string{"a.txt (both): aaaa", "b.txt (): bbbb"}; !slices.Equal(got, want) {
		t.Errorf("the chat shows %q, want %q", got, want)
	}
}

// TestForkThatCallsItSendFile sends a file to a fork that knows it by another
// name than most, and deletes what it does not know.
func TestForkThatCallsItSendFile(t *testing.T) {
	h := startV1Host(t)
	h.file = "send_file"
	if err := os.WriteFile(filepath.Join(h.workspace(), "a.txt"), []byte("aaaa"), 0o644); err != nil {
		t.Fatal(err)
	}
	send := func(env ...string) string {
		cmd := exec.Command(program(t), "send", "a.txt")
		cmd.Env, cmd.Dir = append(append(h.env(), "NANOCLAW_CHAT_JID="+v1Chat, "NANOCLAW_GROUP_FOLDER="+v1Folder), env...), h.workspace()
		out, _ := cmd.CombinedOutput() // its code says that nobody knows
		return string(out)
	}
	if said := send("NANOCLAW_FILE_REQUEST=send_file"); !strings.Contains(said, "Queued a.txt") {
		t.Errorf("it says %q", said)
	}
	if got := h.next(); got != "a.txt (): aaaa" {
		t.Errorf("the chat shows %q", got)
	}
	send()
	select {
	case <-h.lost:
	case words := <-h.sent:
		t.Errorf("without a word from the operator the fork shows %q", words)
	case <-time.After(2 * time.Minute):
		t.Error("nothing came")
	}
	if said := send("NANOCLAW_FILE_REQUEST=pony"); !strings.Contains(said, "neither file nor send_file") {
		t.Errorf("it says %q", said)
	}
}

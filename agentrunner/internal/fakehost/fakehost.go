// Package fakehost is the other end of the queue for the tests of agentrunner:
// a directory as the host lays it out, and something that takes requests and
// writes results when a test says so. It checks nothing and sends nothing.
package fakehost

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/longshore-bridge/longshore/ipc"
)

// Host is the queue of one group. Its directories lie as in a container's
// /workspace, below a temporary directory.
type Host struct {
	Root string // stands for /workspace
	IPC  string // Root/ipc

	t        testing.TB
	requests chan Request
	answer   func(Request) []ipc.Result
}

// Request is one that was found in the queue.
type Request struct {
	ID string
	ipc.Request
}

// New lays out a queue. Each request is passed to answer, which may be nil; the results
// that it returns are written one after the other, and the request is taken
// from the queue at the first that is not empty.
func New(t testing.TB, answer func(Request) []ipc.Result) *Host {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &Host{Root: root, IPC: filepath.Join(root, "ipc"), t: t, answer: answer,
		requests: make(chan Request, 100)}
	for _, dir := range []string{ipc.MessagesDir, ipc.FilesDir, ipc.ResultsDir, ipc.InputDir, ipc.ContextDir} {
		h.must(os.MkdirAll(filepath.Join(h.IPC, dir), 0o755))
	}
	for _, dir := range []string{"group", "tmp"} {
		h.must(os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	h.Tell(Context())
	watcher, err := fsnotify.NewWatcher()
	h.must(err)
	h.must(watcher.Add(filepath.Join(h.IPC, ipc.MessagesDir)))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range watcher.Events {
			if e.Has(fsnotify.Create) {
				h.take(filepath.Base(e.Name))
			}
		}
	}()
	t.Cleanup(func() {
		watcher.Close()
		<-done
	})
	return h
}

// Context is what a host says of a group whose channel is connected.
func Context() ipc.Context {
	return ipc.Context{
		Group: "Family", Folder: "family", Chat: "web:family", Channel: "web", Connected: true,
		Limits: map[string]int64{"image": 1 << 20, "video": 2 << 20, "audio": 1 << 20, "voice": 1 << 20, "sticker": 1 << 20, "document": 4 << 20},
		Text:   4096, Host: "1.2.3", Time: time.Now(),
		Mounts: []ipc.ContextMount{{Path: "/workspace/group"}, {Path: "/workspace/global", ReadOnly: true},
			{Path: "/workspace/group/secret", Shadow: true}, {Path: "/workspace/ipc/files"}},
	}
}

// Answer replaces what answers requests. It must be called before the first comes.
func (h *Host) Answer(answer func(Request) []ipc.Result) { h.answer = answer }

// AbleContext is what a host says of a chat that has everything.
func AbleContext() ipc.Context {
	c := Context()
	c.Can = []string{"react", "edit", "unsend", "ask", "schedule", "register", "history"}
	return c
}

// Done answers every request with sent, and a call with done and an answer in words.
func Done(r Request) []ipc.Result {
	if !r.Type.IsCall() {
		return Sent(r)
	}
	return []ipc.Result{{Status: ipc.Done, Data: json.RawMessage(`{"words": "All is well.\nTwice.", "task": {"id": "t-1"}}`)}}
}

// Tell writes what the container may know of the group.
func (h *Host) Tell(c ipc.Context) { h.write(c, ipc.ContextDir, "context.json") }

// Write replaces the result of a request.
func (h *Host) Write(id string, r ipc.Result) {
	r.ID = id
	h.write(r, ipc.ResultsDir, id+".json")
}

// Take removes a request from the queue, as a host does that has accepted it.
func (h *Host) Take(id string) { h.must(os.Remove(filepath.Join(h.IPC, ipc.MessagesDir, id+".json"))) }

// Next waits for the next request.
func (h *Host) Next() Request {
	h.t.Helper()
	select {
	case r := <-h.requests:
		return r
	case <-time.After(2 * time.Minute):
		h.t.Fatal("no request came")
		return Request{}
	}
}

// Pending lists what lies in the queue, sorted.
func (h *Host) Pending() []string {
	entries, err := os.ReadDir(filepath.Join(h.IPC, ipc.MessagesDir))
	h.must(err)
	var ids []string
	for _, e := range entries {
		ids = append(ids, strings.TrimSuffix(e.Name(), ".json"))
	}
	slices.Sort(ids)
	return ids
}

// Staged lists the copies that lie in files/, by their names in the chat.
func (h *Host) Staged() []string {
	found, err := filepath.Glob(filepath.Join(h.IPC, ipc.FilesDir, "*", "*"))
	h.must(err)
	for i := range found {
		found[i] = filepath.Base(found[i])
	}
	return found
}

// Env is what the runtime gives a process that runs without a container.
func (h *Host) Env() []string {
	mounts, err := json.Marshal([]map[string]any{
		{"path": "/workspace/group", "local": filepath.Join(h.Root, "group")},
		{"path": "/workspace/global", "local": filepath.Join(h.Root, "global"), "readOnly": true}})
	h.must(err)
	return []string{"LONGSHORE_IPC=" + h.IPC, "LONGSHORE_MOUNTS=" + string(mounts),
		"TMPDIR=" + filepath.Join(h.Root, "tmp"), "LONGSHORE_CHAT_JID=web:family", "LONGSHORE_GROUP_FOLDER=family"}
}

// File writes a file below the root and returns its path.
func (h *Host) File(name, content string) string {
	path := filepath.Join(h.Root, name)
	h.must(os.MkdirAll(filepath.Dir(path), 0o755))
	h.must(os.WriteFile(path, []byte(content), 0o644))
	return path
}

func (h *Host) take(name string) {
	id, ok := strings.CutSuffix(name, ".json")
	if !ok || strings.HasPrefix(name, ".") {
		return
	}
	b, err := os.ReadFile(filepath.Join(h.IPC, ipc.MessagesDir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return // withdrawn meanwhile
	}
	h.must(err)
	decoded, err := ipc.Decode(b)
	if err != nil {
		h.t.Errorf("request %s: %v\n%s", id, err, b)
		return
	}
	r := Request{ID: id, Request: decoded}
	h.requests <- r
	if h.answer == nil {
		return
	}
	for _, result := range h.answer(r) {
		h.Write(id, result)
		_ = os.Remove(filepath.Join(h.IPC, ipc.MessagesDir, name))
	}
}

func (h *Host) write(v any, parts ...string) {
	b, err := json.Marshal(v)
	h.must(err)
	path := filepath.Join(append([]string{h.IPC}, parts...)...)
	temp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	h.must(os.WriteFile(temp, b, 0o644))
	h.must(os.Rename(temp, path))
}

func (h *Host) must(err error) {
	if err != nil {
		h.t.Helper()
		h.t.Error(err)
	}
}

// Sent answers every request with sent.
func Sent(r Request) []ipc.Result {
	return []ipc.Result{{Status: ipc.Sent, Chat: "web:family", Channel: "web", MessageID: "m-" + r.ID[len(r.ID)-4:]}}
}

package page

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/internal/need"
	"github.com/longshore-bridge/longshore/ipc"
)

func hears(h *stage.Changing, chat string, want ...string) {
	h.T.Helper()
	var got []string
	h.Until(fmt.Sprintf("%s hears %q", chat, want), func() bool {
		got = h.Texts(chat)
		return slices.Equal(got, want)
	})
}

// enqueue asks for a file of n bytes to be sent, as the group's tool does.
func enqueue(h *stage.Changing, folder, name string, n int) (id string) {
	h.T.Helper()
	if err := os.WriteFile(filepath.Join(h.Layout.Workspace(folder), name), bytes.Repeat([]byte("x"), n), 0o644); err != nil {
		h.T.Fatal(err)
	}
	id, err := ipc.NewClient(h.Layout.IPC(folder, "")).Enqueue(context.Background(),
		ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: "/workspace/group/" + name}}})
	if err != nil {
		h.T.Fatal(err)
	}
	return id
}

func ends(h *stage.Changing, folder, id string) ipc.Result {
	h.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), stage.Patience)
	defer cancel()
	r, err := ipc.NewClient(h.Layout.IPC(folder, "")).Wait(ctx, id, nil)
	if err != nil || !r.Status.Final() {
		h.T.Fatalf("request %s of %s has no end: %+v, %v", id, folder, r, err)
	}
	return r
}

const oneGroup = `channels: {web: {listen: "%LISTEN%"}}
limits: {free_disk: 1MB}
groups: [{name: Family, folder: family, chat: "web:family"}]
`

// TestAReloadDropsNoConnectionAndNoTurn changes nearly everything of a host while
// a member's page is connected and her assistant is at work.
func TestAReloadDropsNoConnectionAndNoTurn(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	const form = `channels: {web: {listen: "%%LISTEN%%"%s}}
limits: {free_disk: 1MB}
assistants:
  slow: {agent: command, command: [sh, -c, %q]}
  echo: {agent: command, command: [sh, -c, "cat >/dev/null; echo at once"]}
groups:
  - {name: Family, folder: family, chat: "web:family", assistant: slow, gather: {after: 0s}}
%s`
	h := stage.NewChanging(t, fmt.Sprintf(form, "", "cat >/dev/null; read line < "+gate+"; echo $line", ""))
	page, err := http.Get(h.Base + "/api/chats/family/events")
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close()
	h.Say("family", "the report, please")
	assistant, err := os.OpenFile(gate, os.O_WRONLY, 0) // waits until the assistant reads
	if err != nil {
		t.Fatal(err)
	}
	h.Reload(fmt.Sprintf(form, ", upload: 1MB", "cat >/dev/null; echo another",
		"  - {name: Kids, folder: kids, chat: \"web:kids\", assistant: echo, gather: {after: 0s}}\n"))

	h.Say("kids", "hello")
	hears(h, "kids", "at once")
	fmt.Fprintln(assistant, "here it is")
	assistant.Close()
	heard := make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(page.Body)
		for lines.Scan() && !strings.Contains(lines.Text(), "here it is") {
		}
		heard <- strings.Contains(lines.Text(), "here it is")
	}()
	select {
	case ok := <-heard:
		if !ok {
			t.Error("the page's connection was dropped")
		}
	case <-time.After(stage.Patience):
		t.Error("the turn did not go on")
	}
	h.Say("family", "and now?")
	hears(h, "family", "here it is", "another")
}

func TestAChangedLimitHoldsForTheNextFile(t *testing.T) {
	h := stage.NewChanging(t, oneGroup)
	if r := ends(h, "family", enqueue(h, "family", "a.txt", 100)); r.Status != ipc.Sent {
		t.Fatalf("the first file: %+v", r)
	}
	if r := h.Reload(strings.Replace(oneGroup, "1MB}", "1MB, files: {document: 10}}", 1)); !slices.Equal(r.Changes, []string{"limits.files changed"}) {
		t.Errorf("changes: %q", r.Changes)
	}
	if r := ends(h, "family", enqueue(h, "family", "b.txt", 100)); r.Status != ipc.Refused || !strings.Contains(r.Message, "10 bytes") {
		t.Errorf("a file above the new limit: %+v", r)
	}
	h.Reload(oneGroup)
	if r := ends(h, "family", enqueue(h, "family", "c.txt", 100)); r.Status != ipc.Sent {
		t.Errorf("after the limit was taken back: %+v", r)
	}
}

func TestAChangedRateHoldsForTheNextFile(t *testing.T) {
	slow := strings.Replace(oneGroup, "1MB}", "1MB, rate: {per_minute: 1, burst: 1}}", 1)
	h := stage.NewChanging(t, slow)
	ends(h, "family", enqueue(h, "family", "a.txt", 1))
	h.Reload(strings.Replace(oneGroup, "1MB}", "1MB, rate: {per_minute: 60000, burst: 100}}", 1))
	for i := range 20 { // by the first rate, twenty minutes
		ends(h, "family", enqueue(h, "family", fmt.Sprintf("%d.txt", i), 1))
	}
}

// TestWhatBelongsToARemovedGroupIsRefusedWithWords removes a group whose page is
// open and whose assistant is in a turn, and brings it back.
func TestWhatBelongsToARemovedGroupIsRefusedWithWords(t *testing.T) {
	const with = oneGroup + "assistants: {idle: {agent: command, command: [sh, -c, \"cat >/dev/null; echo $PPID here; exec sleep 1000\"]}}\n"
	both := strings.Replace(with, `"web:family"}`, `"web:family"}, {name: Kids, folder: kids, chat: "web:kids", assistant: idle, gather: {after: 0s}}`, 1)
	h := stage.NewChanging(t, both)
	page, err := http.Get(h.Base + "/api/chats/kids/events")
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close()
	h.Say("kids", "hello")
	state := func() string {
		s, err := h.Client.Status(t.Context())
		if err != nil || len(s.Assistants) == 0 {
			return ""
		}
		return s.Assistants[0].State
	}
	h.Until("the assistant works", func() bool { return state() == "running" })
	h.Reload(with)
	if _, err := io.Copy(io.Discard, page.Body); err != nil {
		t.Errorf("the removed chat's page: %v", err)
	}
	h.Until("the assistant has ended", func() bool { return state() == "" })
	resp, err := http.Post(h.Base+"/api/chats/kids/messages", "application/json", strings.NewReader(`{"text":"hello?"}`))
	if err != nil {
		t.Fatal(err)
	}
	words, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound || !strings.Contains(string(words), "there is no chat") {
		t.Errorf("a member of the removed chat reads %s: %s", resp.Status, words)
	}
	if r := ends(h, "kids", enqueue(h, "kids", "a.txt", 1)); r.Code != groups.CodeGroupUnknown || !strings.Contains(r.Hint, "longshore reload") {
		t.Errorf("a request of the removed group: %+v", r)
	}
	h.Reload(both)
	if r := ends(h, "kids", enqueue(h, "kids", "b.txt", 1)); r.Status != ipc.Sent {
		t.Errorf("a request of the group that is back: %+v", r)
	}
	h.Until("the assistant has its message back", func() bool { return state() == "running" })
}

// The right to send to another group's chat comes and goes with a reload, and the tools
// of the group know.
func TestAGroupMaySendWhereTheReloadedFileSays(t *testing.T) {
	const without = `channels: {web: {listen: "%LISTEN%"}}
limits: {free_disk: 1MB}
groups: [{name: Family, folder: family, chat: "web:family"}, {name: Work, folder: work, chat: "web:work"}]
`
	h := stage.NewChanging(t, without)
	client := ipc.NewClient(h.Layout.IPC("family", ""))
	send := func() ipc.Result {
		id, err := client.Enqueue(t.Context(), ipc.Request{Type: ipc.TypeMessage, Chat: "web:work", Text: "for work"})
		if err != nil {
			t.Fatal(err)
		}
		return ends(h, "family", id)
	}
	listed := func() int {
		c, err := client.Context()
		if err != nil {
			t.Fatal(err)
		}
		return len(c.Chats)
	}
	if r := send(); r.Code != groups.CodeChatNotAllowed {
		t.Errorf("before: %+v", r)
	}
	h.Reload(strings.Replace(without, `"web:family"`, `"web:family", may_send_to: [work]`, 1))
	if r := send(); r.Status != ipc.Sent {
		t.Errorf("with the right: %+v", r)
	}
	h.Until("the tools know of both chats", func() bool { return listed() == 2 })
	hears(h, "work", "for work")
	h.Reload(without)
	if r := send(); r.Code != groups.CodeChatNotAllowed {
		t.Errorf("after: %+v", r)
	}
	h.Until("the tools know of no other chat", func() bool { return listed() == 0 })
}

// TestReloadsLeaveNothingBehind reloads two configurations in turn.
func TestReloadsLeaveNothingBehind(t *testing.T) {
	reloads := 200
	more := strings.Replace(oneGroup, "}]", "}, {name: Kids, folder: kids, chat: \"web:kids\"}]", 1)
	h := stage.NewChanging(t, oneGroup)
	turn := func(n int) (goroutines, files int, heap uint64) {
		for range n / 2 {
			h.Reload(more)
			h.Reload(oneGroup)
		}
		runtime.GC()
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			need.Lacking(t, "count descriptors: %v", err)
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), len(open), m.HeapAlloc
	}
	goroutines, files, heap := turn(20)
	goroutines2, files2, heap2 := turn(reloads)
	t.Logf("%d reloads: goroutines %d -> %d, descriptors %d -> %d, heap %d -> %d KiB", reloads, goroutines, goroutines2, files, files2, heap>>10, heap2>>10)
	if goroutines2 > goroutines+5 || files2 > files+5 || heap2 > heap+heap/2+8<<20 {
		t.Errorf("something grows")
	}
}

package command

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/ipc"
)

// changing is a host that runs as "longshore serve" does, in this process, and
// whose longshore.yaml changes.
type changing struct {
	chatPage
	file   string
	listen string
	layout groups.Layout
	client *operator.Client
}

// newChanging runs a host with that configuration until the test ends. The page's
// address stands for %LISTEN%.
func newChanging(t *testing.T, text string) *changing {
	t.Helper()
	return newChangingWith(t, func(string) string { return text })
}

// newChangingWith is newChanging with a configuration that is made for its directory.
func newChangingWith(t *testing.T, text func(dir string) string) *changing {
	t.Helper()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &changing{
		chatPage: chatPage{t: t, base: "http://" + port.Addr().String()}, listen: port.Addr().String(),
		file: filepath.Join(dir, "longshore.yaml"), layout: groups.Layout{State: filepath.Join(dir, "state")},
	}
	h.client = operator.NewClient(operator.ControlDir(h.layout))
	h.write(text(dir))
	port.Close()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	var log bytes.Buffer
	go func() { ended <- run(ctx, "", allPlatforms(), []string{"-c", h.file, "serve"}, nil, io.Discard, &log) }()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != exitOK {
			t.Errorf("the host ended with %d:\n%s", code, &log)
		}
		if t.Failed() {
			t.Logf("the host's log:\n%s", &log)
		}
	})
	h.until("the host runs", func() bool {
		s, err := h.client.Status(ctx)
		return err == nil && s.Running && ready(s, nil)
	})
	return h
}

func (h *changing) write(text string) {
	h.t.Helper()
	if err := os.WriteFile(h.file, []byte(strings.ReplaceAll(text, "%LISTEN%", h.listen)), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// reload changes the file and has the host take it up.
func (h *changing) reload(text string) operator.Reloaded {
	h.t.Helper()
	h.write(text)
	r, err := h.client.Reload(context.Background())
	if err != nil || len(r.Problems) > 0 {
		h.t.Fatalf("not reloaded: %v\n%s", err, strings.Join(r.Problems, "\n"))
	}
	return r
}

// until waits for a condition that another process or goroutine brings about.
func (h *changing) until(what string, is func() bool) {
	h.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			h.t.Fatalf("in vain: %s", what)
		}
	}
}

// texts are what the assistant wrote in a chat.
func (h *changing) texts(chat string) (all []string) {
	h.t.Helper()
	for _, m := range h.messages(chat) {
		if m.Assistant && m.File == nil {
			all = append(all, m.Text)
		}
	}
	return all
}

func (h *changing) hears(chat string, want ...string) {
	h.t.Helper()
	var got []string
	h.until(fmt.Sprintf("%s hears %q", chat, want), func() bool {
		got = h.texts(chat)
		return slices.Equal(got, want)
	})
}

// enqueue asks for a file of n bytes to be sent, as the group's tool does.
func (h *changing) enqueue(folder, name string, n int) (id string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.layout.Workspace(folder), name), bytes.Repeat([]byte("x"), n), 0o644); err != nil {
		h.t.Fatal(err)
	}
	id, err := ipc.NewClient(h.layout.IPC(folder, "")).Enqueue(context.Background(),
		ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: "/workspace/group/" + name}}})
	if err != nil {
		h.t.Fatal(err)
	}
	return id
}

func (h *changing) ends(folder, id string) ipc.Result {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := ipc.NewClient(h.layout.IPC(folder, "")).Wait(ctx, id, nil)
	if err != nil || !r.Status.Final() {
		h.t.Fatalf("request %s of %s has no end: %+v, %v", id, folder, r, err)
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
	h := newChanging(t, fmt.Sprintf(form, "", "cat >/dev/null; read line < "+gate+"; echo $line", ""))
	page, err := http.Get(h.base + "/api/chats/family/events")
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close()
	h.say("family", "the report, please")
	assistant, err := os.OpenFile(gate, os.O_WRONLY, 0) // waits until the assistant reads
	if err != nil {
		t.Fatal(err)
	}
	h.reload(fmt.Sprintf(form, ", upload: 1MB", "cat >/dev/null; echo another",
		"  - {name: Kids, folder: kids, chat: \"web:kids\", assistant: echo, gather: {after: 0s}}\n"))

	h.say("kids", "hello")
	h.hears("kids", "at once")
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
	case <-time.After(patience):
		t.Error("the turn did not go on")
	}
	h.say("family", "and now?")
	h.hears("family", "here it is", "another")
}

func TestAChangedLimitHoldsForTheNextFile(t *testing.T) {
	h := newChanging(t, oneGroup)
	if r := h.ends("family", h.enqueue("family", "a.txt", 100)); r.Status != ipc.Sent {
		t.Fatalf("the first file: %+v", r)
	}
	if r := h.reload(strings.Replace(oneGroup, "1MB}", "1MB, files: {document: 10}}", 1)); !slices.Equal(r.Changes, []string{"limits.files changed"}) {
		t.Errorf("changes: %q", r.Changes)
	}
	if r := h.ends("family", h.enqueue("family", "b.txt", 100)); r.Status != ipc.Refused || !strings.Contains(r.Message, "10 bytes") {
		t.Errorf("a file above the new limit: %+v", r)
	}
	h.reload(oneGroup)
	if r := h.ends("family", h.enqueue("family", "c.txt", 100)); r.Status != ipc.Sent {
		t.Errorf("after the limit was taken back: %+v", r)
	}
}

func TestAChangedRateHoldsForTheNextFile(t *testing.T) {
	slow := strings.Replace(oneGroup, "1MB}", "1MB, rate: {per_minute: 1, burst: 1}}", 1)
	h := newChanging(t, slow)
	h.ends("family", h.enqueue("family", "a.txt", 1))
	h.reload(strings.Replace(oneGroup, "1MB}", "1MB, rate: {per_minute: 60000, burst: 100}}", 1))
	for i := range 20 { // by the first rate, twenty minutes
		h.ends("family", h.enqueue("family", fmt.Sprintf("%d.txt", i), 1))
	}
}

// TestWhatBelongsToARemovedGroupIsRefusedWithWords removes a group whose page is
// open and whose assistant is in a turn, and brings it back.
func TestWhatBelongsToARemovedGroupIsRefusedWithWords(t *testing.T) {
	const with = oneGroup + "assistants: {idle: {agent: command, command: [sh, -c, \"cat >/dev/null; echo $PPID here; exec sleep 1000\"]}}\n"
	both := strings.Replace(with, `"web:family"}`, `"web:family"}, {name: Kids, folder: kids, chat: "web:kids", assistant: idle, gather: {after: 0s}}`, 1)
	h := newChanging(t, both)
	page, err := http.Get(h.base + "/api/chats/kids/events")
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close()
	h.say("kids", "hello")
	state := func() string {
		s, err := h.client.Status(t.Context())
		if err != nil || len(s.Assistants) == 0 {
			return ""
		}
		return s.Assistants[0].State
	}
	h.until("the assistant works", func() bool { return state() == "running" })
	h.reload(with)
	if _, err := io.Copy(io.Discard, page.Body); err != nil {
		t.Errorf("the removed chat's page: %v", err)
	}
	h.until("the assistant has ended", func() bool { return state() == "" })
	resp, err := http.Post(h.base+"/api/chats/kids/messages", "application/json", strings.NewReader(`{"text":"hello?"}`))
	if err != nil {
		t.Fatal(err)
	}
	words, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound || !strings.Contains(string(words), "there is no chat") {
		t.Errorf("a member of the removed chat reads %s: %s", resp.Status, words)
	}
	if r := h.ends("kids", h.enqueue("kids", "a.txt", 1)); r.Code != groups.CodeGroupUnknown || !strings.Contains(r.Hint, "longshore reload") {
		t.Errorf("a request of the removed group: %+v", r)
	}
	h.reload(both)
	if r := h.ends("kids", h.enqueue("kids", "b.txt", 1)); r.Status != ipc.Sent {
		t.Errorf("a request of the group that is back: %+v", r)
	}
	h.until("the assistant has its message back", func() bool { return state() == "running" })
}

// The right to send to another group's chat comes and goes with a reload, and the tools
// of the group know.
func TestAGroupMaySendWhereTheReloadedFileSays(t *testing.T) {
	const without = `channels: {web: {listen: "%LISTEN%"}}
limits: {free_disk: 1MB}
groups: [{name: Family, folder: family, chat: "web:family"}, {name: Work, folder: work, chat: "web:work"}]
`
	h := newChanging(t, without)
	client := ipc.NewClient(h.layout.IPC("family", ""))
	send := func() ipc.Result {
		id, err := client.Enqueue(t.Context(), ipc.Request{Type: ipc.TypeMessage, Chat: "web:work", Text: "for work"})
		if err != nil {
			t.Fatal(err)
		}
		return h.ends("family", id)
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
	h.reload(strings.Replace(without, `"web:family"`, `"web:family", may_send_to: [work]`, 1))
	if r := send(); r.Status != ipc.Sent {
		t.Errorf("with the right: %+v", r)
	}
	h.until("the tools know of both chats", func() bool { return listed() == 2 })
	h.hears("work", "for work")
	h.reload(without)
	if r := send(); r.Code != groups.CodeChatNotAllowed {
		t.Errorf("after: %+v", r)
	}
	h.until("the tools know of no other chat", func() bool { return listed() == 0 })
}

// TestReloadsUnderLoadLoseAndDoubleNothing reloads again and again while three
// groups send, and a fourth comes and goes.
func TestReloadsUnderLoadLoseAndDoubleNothing(t *testing.T) {
	const reloads, each = 100, 60
	form := func(pending int, more string) string {
		return fmt.Sprintf("channels: {web: {listen: \"%%LISTEN%%\"}}\nlimits: {free_disk: 1MB, pending: %d, rate: {per_minute: 600000, burst: 1000}}\ngroups:\n"+
			"  - {folder: g0, chat: \"web:g0\"}\n  - {folder: g1, chat: \"web:g1\"}\n  - {folder: g2, chat: \"web:g2\"}\n%s", pending, more)
	}
	h := newChanging(t, form(64, ""))
	var sending sync.WaitGroup
	for g := range 3 {
		sending.Go(func() {
			client := ipc.NewClient(h.layout.IPC(fmt.Sprintf("g%d", g), ""))
			for i := range each {
				if _, err := client.Enqueue(context.Background(), ipc.Request{Type: ipc.TypeMessage, Text: fmt.Sprint(i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range reloads {
		more := ""
		if i%2 == 0 {
			more = "  - {folder: now-and-then, chat: \"web:now-and-then\"}\n"
		}
		h.reload(form(8+i%7, more))
	}
	sending.Wait()
	var want []string
	for i := range each {
		want = append(want, fmt.Sprint(i))
	}
	for g := range 3 {
		h.hears(fmt.Sprintf("g%d", g), want...)
	}
}

// TestReloadsLeaveNothingBehind reloads two configurations in turn.
func TestReloadsLeaveNothingBehind(t *testing.T) {
	reloads := 1000
	if testing.Short() {
		reloads = 100
	}
	more := strings.Replace(oneGroup, "}]", "}, {name: Kids, folder: kids, chat: \"web:kids\"}]", 1)
	h := newChanging(t, oneGroup)
	turn := func(n int) (goroutines, files int, heap uint64) {
		for range n / 2 {
			h.reload(more)
			h.reload(oneGroup)
		}
		runtime.GC()
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("descriptors cannot be counted here")
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

package spool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/internal/need"
	"github.com/longshore-bridge/longshore/ipc"
)

func clientOf(t *testing.T) (*Spool, *ipc.Client, string) {
	t.Helper()
	dir := prepare(t, "fam")
	s := New(Options{Dir: dir, Folders: []string{"fam"}})
	t.Cleanup(func() { s.Close() })
	return s, ipc.NewClient(filepath.Join(dir, "fam")), filepath.Join(dir, "fam")
}

func TestDroppedNamesSortInTheOrderOfTheCalls(t *testing.T) {
	_, c, dir := clientOf(t)
	var ids []string
	for range 200 {
		id, err := c.Enqueue(t.Context(), ipc.Request{Type: ipc.TypeMessage, Text: "hi"})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if !slices.IsSorted(ids) {
		t.Error("not sorted")
	}
	info, err := os.Stat(filepath.Join(dir, ipc.MessagesDir, ids[0]+".json"))
	if err != nil || info.Mode() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestDropLeavesNothingBehindWhenItCannot(t *testing.T) {
	_, c, dir := clientOf(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Enqueue(ctx, ipc.Request{Type: ipc.TypeMessage, Text: "hi"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	var refusal *ipc.Refusal
	if _, err := c.Enqueue(t.Context(), ipc.Request{Type: ipc.TypeFile}); !errors.As(err, &refusal) {
		t.Error(err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, ipc.MessagesDir))
	if err != nil || len(entries) > 0 {
		t.Errorf("left %v, %v", entries, err)
	}
	if _, err := ipc.NewClient(t.TempDir()).Enqueue(t.Context(), ipc.Request{Type: ipc.TypeMessage, Text: "hi"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a queue: %v", err)
	}
}

func TestWaitTellsEveryStep(t *testing.T) {
	s, c, _ := clientOf(t)
	id, err := c.Enqueue(t.Context(), ipc.Request{Type: ipc.TypeMessage, Text: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	steps := []ipc.Result{
		{ID: id, Status: ipc.Queued, Time: time.Unix(1, 0).UTC()},
		{ID: id, Status: ipc.Queued, Progress: &ipc.Progress{Sent: 1, Total: 2}, Time: time.Unix(2, 0).UTC()},
		{ID: id, Status: ipc.Sent, MessageID: "m", Time: time.Unix(3, 0).UTC()},
	}
	var seen []ipc.Result
	got, err := c.Wait(t.Context(), id, func(r ipc.Result) {
		seen = append(seen, r)
		if n := len(seen) - 1; n < len(steps) {
			if err := s.WriteResult("fam", steps[n]); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(steps[2], got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(steps, seen[1:]); diff != "" {
		t.Error(diff)
	}
}

func TestWaitEndsWithTheLastStateSeen(t *testing.T) {
	_, c, _ := clientOf(t)
	id, err := c.Enqueue(t.Context(), ipc.Request{Type: ipc.TypeMessage, Text: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := c.Wait(ctx, id, func(ipc.Result) { cancel() })
	if err != nil || r.Status != ipc.Queued || r.Message == "" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestHostWithoutReceiptsIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ipc.MessagesDir), 0o755); err != nil {
		t.Fatal(err)
	}
	c := ipc.NewClient(dir)
	id, err := c.Enqueue(t.Context(), ipc.Request{Type: ipc.TypeMessage, Text: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Wait(t.Context(), id, nil)
	if err != nil || r.Status != ipc.Queued || r.Code != ipc.CodeNoReceipts {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestStatusOfWhatNobodyKnows(t *testing.T) {
	_, c, _ := clientOf(t)
	for _, id := range []string{"0190", "../results/x", "", "\x1b"} {
		var refusal *ipc.Refusal
		if _, err := c.Status(id); !errors.As(err, &refusal) || refusal.Code != ipc.CodeUnknown || strings.Contains(refusal.Message, "\x1b") {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestStagedBytesAreThereUntilUnstaged(t *testing.T) {
	_, c, dir := clientOf(t)
	path, err := c.Stage("../my report.pdf", strings.NewReader("bytes"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(path, "files/") || !strings.HasSuffix(path, "/my report.pdf") {
		t.Errorf("path %s", path)
	}
	if b, err := os.ReadFile(filepath.Join(dir, path)); err != nil || string(b) != "bytes" {
		t.Errorf("%q, %v", b, err)
	}
	if err := c.Unstage(path); err != nil {
		t.Error(err)
	}
	second, err := c.Stage("a", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Unstage(second); err != nil {
		t.Error(err)
	}
	if _, err := c.Stage("b", io.MultiReader(strings.NewReader("x"), iotest.ErrReader(errors.New("gone")))); err == nil {
		t.Error("a broken reader was staged")
	}
	for _, p := range []string{"", "files", "files/..", "messages/a/b", "files/../messages/a"} {
		if err := c.Unstage(p); err == nil {
			t.Errorf("unstaged %q", p)
		}
	}
	if left, err := os.ReadDir(filepath.Join(dir, ipc.FilesDir)); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestFollowUpsComeInOrderAndOnce(t *testing.T) {
	_, c, dir := clientOf(t)
	var want []string
	for i := range 20 {
		want = append(want, name(i))
		followUp(t, dir, fmt.Sprintf("17000000000%02d-abcd.json", i), fmt.Sprintf(`{"type":"message","text":%q}`, name(i)))
	}
	for n, body := range map[string]string{"1-bad.json": "{", ".half.json": hello, "note.txt": "x"} {
		if err := os.WriteFile(filepath.Join(dir, ipc.InputDir, n), []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, closed, err := c.Inputs(t.Context(), map[string]bool{"1700000000000-abcd.json": true})
	if err != nil || closed {
		t.Errorf("closed %v, %v", closed, err)
	}
	var texts []string
	for _, in := range got {
		texts = append(texts, in.Text)
	}
	if diff := cmp.Diff(append([]string{""}, want[1:]...), texts); diff != "" || got[0].Name != "1-bad.json" {
		t.Error(diff)
	}
	for _, in := range got {
		if err := c.TakeInput(in.Name); err != nil {
			t.Error(err)
		}
	}
	if err := c.TakeInput(got[0].Name); err == nil {
		t.Error("a follow-up can be taken twice")
	}
	followUp(t, dir, "_close", "")
	if got, closed, err := c.Inputs(t.Context(), nil); len(got) != 1 || got[0].Text != want[0] || !closed || err != nil {
		t.Errorf("the one that was known is gone: %v, %v, %v", got, closed, err)
	}
	if err := errors.Join(c.TakeInput("1700000000000-abcd.json"), c.ClearClose()); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, closed, err := c.Inputs(ctx, nil); closed || !errors.Is(err, context.Canceled) {
		t.Errorf("closed again: %v, %v", closed, err)
	}
}

func TestStaleCloseIsCleared(t *testing.T) {
	_, c, dir := clientOf(t)
	for range 2 { // also where there is none
		if err := c.ClearClose(); err != nil {
			t.Fatal(err)
		}
		followUp(t, dir, "_close", "")
	}
	if err := c.ClearClose(); err != nil {
		t.Fatal(err)
	}
	followUp(t, dir, "1-abcd.json", `{"type":"message","text":"hi"}`)
	if got, closed, err := c.Inputs(t.Context(), nil); !slices.Equal(got, []ipc.Input{{Name: "1-abcd.json", Text: "hi"}}) || closed || err != nil {
		t.Errorf("%v, %v, %v", got, closed, err)
	}
}

func TestContextCrossesTheMount(t *testing.T) {
	s, c, _ := clientOf(t)
	if _, err := c.Context(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("before: %v", err)
	}
	want := ipc.Context{Group: "Family", Folder: "fam", Chat: "web:fam", Limits: map[string]int64{"image": 1}, Time: time.Unix(1, 0).UTC()}
	if err := s.WriteContext("fam", want); err != nil {
		t.Fatal(err)
	}
	got, err := c.Context()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOldResultsAndStagedFilesArePruned(t *testing.T) {
	s, c, dir := clientOf(t)
	old := time.Now().Add(-8 * 24 * time.Hour)
	for i := range maxResults + 20 {
		id := strings.TrimSuffix(name(i), ".json")
		if err := s.WriteResult("fam", ipc.Result{ID: id, Status: ipc.Sent}); err != nil {
			t.Fatal(err)
		}
		if i < 10 {
			if err := os.Chtimes(filepath.Join(dir, ipc.ResultsDir, name(i)), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	staged, err := c.Stage("a", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	link := filepath.Join(dir, ipc.FilesDir, filepath.Dir(staged[len("files/"):]), "link")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Dir(link), old, old); err != nil {
		t.Fatal(err)
	}
	id, err := c.Enqueue(t.Context(), ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: "/workspace/ipc/" + staged}}})
	if err != nil {
		t.Fatal(err)
	}
	s.pruneGroup(s.all()["fam"])
	if _, err := os.Stat(filepath.Join(dir, staged)); err != nil {
		t.Errorf("staged bytes of a waiting request: %v", err)
	}
	if _, err := c.Withdraw(id); err != nil {
		t.Fatal(err)
	}
	s.pruneGroup(s.all()["fam"])
	if _, err := os.Stat(filepath.Join(dir, staged)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("old staged bytes: %v", err)
	}
	if _, err := os.Stat(filepath.Join(outside, "mine")); err != nil {
		t.Errorf("beyond the link: %v", err)
	}
	results, err := os.ReadDir(filepath.Join(dir, ipc.ResultsDir))
	if err != nil || len(results) != maxResults {
		t.Errorf("%d results, %v", len(results), err)
	}
	if _, err := os.Stat(filepath.Join(dir, ipc.ResultsDir, name(5))); err == nil {
		t.Error("an old result is still there")
	}
}

// followUp writes into input/ as the host does.
func followUp(t *testing.T, dir, name, body string) {
	t.Helper()
	path := filepath.Join(dir, ipc.InputDir, name)
	if err := errors.Join(os.WriteFile(path+".tmp", []byte(body), 0o644), os.Rename(path+".tmp", path)); err != nil {
		t.Fatal(err)
	}
}

// An hour's pruning of thousands of quiet groups listed each directory of each.
func TestPruningLooksWhereSomethingMayHaveAged(t *testing.T) {
	dir := prepare(t, "fam")
	keep := 24 * time.Hour
	s := New(Options{Dir: dir, Folders: []string{"fam"}, Keep: func() Keep { return Keep{Results: keep} }})
	defer s.Close()
	g, results := s.all()["fam"], filepath.Join(dir, "fam", ipc.ResultsDir)
	plant := func(name string, age time.Duration) {
		t.Helper()
		changed := time.Now().Add(-age)
		if err := errors.Join(os.WriteFile(filepath.Join(results, name), nil, 0o644), os.Chtimes(filepath.Join(results, name), changed, changed)); err != nil {
			t.Fatal(err)
		}
	}
	left := func(want ...string) {
		t.Helper()
		s.pruneGroup(g)
		entries, err := os.ReadDir(results)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if !slices.Equal(names, want) {
			t.Errorf("left %q, want %q", names, want)
		}
	}
	plant("a.json", 40*time.Hour)
	plant("b.json", 10*time.Hour)
	left("b.json")
	plant("old.json", 40*time.Hour) // not by the spool, so it is not looked for
	left("b.json", "old.json")
	if err := s.WriteResult("fam", ipc.Result{ID: "c", Status: ipc.Sent}); err != nil {
		t.Fatal(err)
	}
	left("b.json", "c.json")
	keep = 5 * time.Hour // as a reload may have it
	left("c.json")
	plant(temporaryPrefix+"x", 30*time.Minute)
	if err := s.WriteResult("fam", ipc.Result{ID: "d", Status: ipc.Sent}); err != nil {
		t.Fatal(err)
	}
	left(temporaryPrefix+"x", "c.json", "d.json")
	plant(temporaryPrefix+"x", 2*time.Hour)
	g.pruned.oldest = g.pruned.oldest.Add(-time.Hour) // an hour later
	left("c.json", "d.json")
}

func TestAContextIsReplacedIfMoreThanItsTimeChanges(t *testing.T) {
	dir := prepare(t, "fam")
	s := New(Options{Dir: dir, Folders: []string{"fam"}})
	defer s.Close()
	c := ipc.Context{Group: "Fam", Limits: map[string]int64{"image": 1}, Time: time.Now()}
	write := func() os.FileInfo {
		t.Helper()
		err := s.WriteContext("fam", c)
		info, statErr := os.Stat(filepath.Join(dir, "fam", ipc.ContextDir, ipc.ContextFile))
		if err := errors.Join(err, statErr); err != nil {
			t.Fatal(err)
		}
		return info
	}
	first := write()
	c.Time = c.Time.Add(time.Hour)
	if !os.SameFile(first, write()) {
		t.Error("written anew for its time alone")
	}
	c.Connected = true
	if os.SameFile(first, write()) {
		t.Error("not written anew")
	}
}

// Each result of a flood cost two looks at files that were not to be deleted.
func TestAFloodOfResultsIsPrunedWithoutAnotherListing(t *testing.T) {
	dir := prepareFast(t, "fam")
	s := New(Options{Dir: dir, Folders: []string{"fam"}})
	defer s.Close()
	g, results := s.all()["fam"], filepath.Join(dir, "fam", ipc.ResultsDir)
	n := 0
	write := func(many int) {
		t.Helper()
		for range many {
			if err := s.WriteResult("fam", ipc.Result{ID: fmt.Sprintf("r%05d", n), Status: ipc.Sent}); err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	left := func(from int, others ...string) {
		t.Helper()
		for i := from; i < n; i++ {
			others = append(others, fmt.Sprintf("r%05d.json", i))
		}
		entries, err := os.ReadDir(results)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if !slices.Equal(names, others) {
			t.Errorf("%d files from %s on are left, want %d from %s on", len(names), names[0], len(others), others[0])
		}
	}
	write(maxResults)
	s.pruneOldest(g)
	left(0)
	if err := os.WriteFile(filepath.Join(results, "0.json"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(results, "0.json"), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	write(maxResults - 1)
	s.pruneOldest(g) // too early
	left(0, "0.json")
	if err := s.WriteResult("fam", ipc.Result{ID: "r00001", Status: ipc.Read}); err != nil { // again, so it is among the newest
		t.Fatal(err)
	}
	s.pruneOldest(g)
	left(maxResults, "0.json", "r00001.json")
	s.pruneGroup(g) // an hour later
	left(maxResults, "r00001.json")
}

// The host asked for the end of each request that it had read to the end.
func TestARequestIsReadByOneCall(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	calls := func() (n int) {
		b, err := os.ReadFile("/proc/thread-self/io")
		if err != nil {
			need.Lacking(t, "count a thread's reads: %v", err)
		}
		for line := range strings.Lines(string(b)) {
			if got, _ := fmt.Sscanf(line, "syscr: %d", &n); got == 1 {
				return n
			}
		}
		t.Fatalf("no count in %s", b)
		return 0
	}
	dir := prepare(t, "fam")
	messages, err := os.OpenRoot(filepath.Join(dir, "fam", ipc.MessagesDir))
	if err != nil {
		t.Fatal(err)
	}
	defer messages.Close()
	if err := messages.WriteFile("a.json", []byte(hello), 0o644); err != nil {
		t.Fatal(err)
	}
	first := calls()
	own := calls() - first // of the count itself
	body, _, err := readRequest(messages, "a.json")
	if n := calls() - first - 2*own; n != 1 || string(body) != hello || err != nil {
		t.Errorf("%d reads, %q, %v", n, body, err)
	}
}

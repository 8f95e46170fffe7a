package spool

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/longshore-bridge/longshore/ipc"
)

func TestErrorsFolderIsBoundedForEachGroup(t *testing.T) {
	dir := prepare(t, "a", "a-b")
	q := &quarantine{base: &base{path: dir}}
	defer q.base.close()
	add := func(folder string, i int, body string) {
		x := Quarantined{Folder: folder, Request: name(i), Code: "x", Attempts: 1, Written: time.Unix(int64(i), 0), Last: time.Unix(int64(i), 0)}
		if err := q.add(x, name(i), []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	add("a-b", 1, "other")
	add("a-b", 1, "other") // the same after a crash
	for i := range maxErrors + 50 {
		add("a", i, "body")
	}
	all, err := ListErrors(dir)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, x := range all {
		count[x.Folder]++
	}
	if count["a"] != maxErrors || count["a-b"] != 1 {
		t.Errorf("entries: %v", count)
	}
	if x, _, err := ReadError(dir, "a-b-000001"); err != nil || x.Attempts != 2 {
		t.Errorf("the same request twice: %+v, %v", x, err)
	}
	if _, _, err := ReadError(dir, "a-000000"); !errors.Is(err, ErrNoEntry) {
		t.Errorf("the oldest is still there: %v", err)
	}
}

func TestOperatorRetriesAndDropsErrors(t *testing.T) {
	dir := prepare(t, "fam")
	q := serve(t, dir, Options{Folders: []string{"fam"}})
	drop(t, dir, "fam", "a.json", "{")
	drop(t, dir, "fam", "b.json", "[")
	dropRaw(t, dir, "fam", "bad name.json")
	q.none("fam")
	q.stop()
	if id, err := RetryError(dir, "fam-a"); id != "a" || err != nil {
		t.Errorf("retry: %s, %v", id, err)
	}
	if err := DropError(dir, "fam-b"); err != nil {
		t.Error(err)
	}
	left := q.entries()
	if len(left) != 1 || left[0].Code != ipc.CodeBadName {
		t.Fatalf("left: %+v", left)
	}
	id, err := RetryError(dir, left[0].Name)
	if err != nil || !ipc.ValidID(id) {
		t.Errorf("retry of a bad name: %s, %v", id, err)
	}
	if got := waitingIn(t, dir, "fam"); len(got) != 2 {
		t.Errorf("back in the queue: %v", got)
	}
	for _, n := range []string{"fam-a", "../fam/messages/a", "", "."} {
		if err := DropError(dir, n); !errors.Is(err, ErrNoEntry) {
			t.Errorf("drop %q: %v", n, err)
		}
	}
}

func TestErrorsLeftByV1AreListed(t *testing.T) {
	dir := prepare(t, "fam")
	if err := os.WriteFile(filepath.Join(dir, ipc.ErrorsDir, "fam-1700000000000-abcdef.json"), []byte(hello), 0o644); err != nil {
		t.Fatal(err)
	}
	all, err := ListErrors(dir)
	if err != nil || len(all) != 1 || all[0].Name != "fam-1700000000000-abcdef" || all[0].Size == 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := RetryError(dir, all[0].Name); !errors.Is(err, ErrNoBody) {
		t.Errorf("retry without a group: %v", err)
	}
}

func TestReasonIsJSONForOtherTools(t *testing.T) {
	dir := prepare(t, "fam")
	q := serve(t, dir, Options{Folders: []string{"fam"}})
	drop(t, dir, "fam", "a.json", "{")
	q.none("fam")
	b, err := os.ReadFile(filepath.Join(dir, ipc.ErrorsDir, "fam-a.reason.json"))
	if err != nil {
		t.Fatal(err)
	}
	var reason map[string]any
	if err := json.Unmarshal(b, &reason); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"folder", "request", "code", "message", "hint", "attempts", "first", "last"} {
		if reason[key] == nil {
			t.Errorf("no %s in %s", key, b)
		}
	}
}

// A group whose folder begins as another's must not be able to replace what
// the operator finds of the other's.
func TestTwoGroupsOfLikeNamesDoNotShareAnEntry(t *testing.T) {
	dir := prepare(t, "a", "a-b")
	q := &quarantine{base: &base{path: dir}}
	defer q.base.close()
	for folder, request := range map[string]string{"a": "b-x", "a-b": "x"} {
		x := Quarantined{Folder: folder, Request: request, Code: "x", Attempts: 1, Written: time.Unix(1, 0)}
		if err := q.add(x, request+".json", []byte(folder+"'s")); err != nil {
			t.Fatal(err)
		}
	}
	all, err := ListErrors(dir)
	if err != nil || len(all) != 2 {
		t.Fatalf("entries: %+v, %v", all, err)
	}
	for _, x := range all {
		if _, body, err := ReadError(dir, x.Name); err != nil || len(body) != len(x.Folder)+2 || x.Attempts != 1 {
			t.Errorf("%+v has the body %q, %v", x, body, err)
		}
	}
}

func TestOldEntriesLeaveTheErrorsFolder(t *testing.T) {
	dir := prepare(t, "fam")
	q := &quarantine{base: &base{path: dir}}
	now := time.Now()
	for name, last := range map[string]time.Time{"old": now.Add(-31 * 24 * time.Hour), "young": now.Add(-29 * 24 * time.Hour)} {
		if err := q.add(Quarantined{Folder: "fam", Request: name, Code: ipc.CodeMalformed, Last: last}, name+ipc.Suffix, []byte("{")); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		age  time.Duration
		left int
	}{{0, 2}, {30 * 24 * time.Hour, 1}, {time.Hour, 0}} {
		if err := q.expire(c.age); err != nil {
			t.Fatal(err)
		}
		all, err := ListErrors(dir)
		if err != nil || len(all) != c.left {
			t.Errorf("kept for %v: %d entries, %v; want %d", c.age, len(all), err, c.left)
		}
	}
}

// TestARefusalThatACrashCutOffIsOneEntry: the body came first, and a kill before the reason
// left an entry of its own beside that of the next start.
func TestARefusalThatACrashCutOffIsOneEntry(t *testing.T) {
	dir := prepare(t, "a")
	x := Quarantined{Folder: "a", Request: "000001", Code: "x", Attempts: 1, Written: time.Unix(1, 0), Last: time.Unix(1, 0)}
	refuse := func() {
		t.Helper()
		q := &quarantine{base: &base{path: dir}}
		defer q.base.close()
		if err := q.add(x, name(1), []byte("body")); err != nil {
			t.Fatal(err)
		}
	}
	refuse()
	folder := filepath.Join(dir, ipc.ErrorsDir)
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Add(folder); err != nil {
		t.Fatal(err)
	}
	refuse()
	var placed []string
	for len(placed) < 2 {
		if e := <-w.Events; e.Has(fsnotify.Create) && ipc.IsRequest(filepath.Base(e.Name)) {
			placed = append(placed, filepath.Base(e.Name))
		}
	}
	if err := os.Remove(filepath.Join(folder, placed[1])); err != nil { // as if the crash had come before it
		t.Fatal(err)
	}
	refuse()
	all, err := ListErrors(dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d entries, placed as %q: %+v, %v", len(all), placed, all, err)
	}
	if _, body, err := ReadError(dir, all[0].Name); err != nil || string(body) != "body" {
		t.Errorf("%q, %v", body, err)
	}
}

package serve

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/longshore-bridge/longshore/host/tasks"
)

// TestTheFirstSnapshotsCameLate: they were written while the tasks ran already, and could
// replace newer ones.
func TestTheFirstSnapshotsCameLate(t *testing.T) {
	h := newHost(t, "layout: v1\n"+everything, false)
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := os.Stat(filepath.Join(h.Layout.IPCDir(), "family", "current_tasks.json")); err != nil {
		t.Errorf("no snapshot before the parts run: %v", err)
	}
}

// TestASnapshotOfBeforeWasWrittenLast: two changes of a task at once looked at the tasks in one
// order and wrote the snapshots in the other.
func TestASnapshotOfBeforeWasWrittenLast(t *testing.T) {
	h := newHost(t, "layout: v1\n"+everything, false)
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	task := tasks.Task{ID: "task-a", Folder: "family", Prompt: "remind", Type: "cron", Value: "0 8 * * *", Mode: "group", Status: tasks.Active}
	if left, err := h.tasks.Import(t.Context(), "a test", []tasks.Task{task}); err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	for range 50 {
		var both sync.WaitGroup
		for _, verb := range []string{"pause", "resume"} {
			both.Go(func() { _, _ = h.tasks.Operate(t.Context(), task.ID, verb) }) // refused if it is so already
		}
		both.Wait()
		all, err := h.tasks.List(t.Context(), "family")
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		b, err := os.ReadFile(filepath.Join(h.Layout.IPCDir(), "family", "current_tasks.json"))
		var shown []struct{ Status string }
		if err == nil {
			err = json.Unmarshal(b, &shown)
		}
		if err != nil || len(shown) != 1 || shown[0].Status != all[0].Status {
			t.Fatalf("the snapshot has %v, the state %s, %v", shown, all[0].Status, err)
		}
	}
}

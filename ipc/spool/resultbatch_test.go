package spool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
)

// A batch is read back only up to the size of a request, like any file of the queue.
func TestABatchIsCutIntoFilesThatCanBeReadBack(t *testing.T) {
	dir := prepareFast(t, "work")
	s := New(Options{Dir: dir, Folders: []string{"work"}})
	defer s.Close()
	var all []ipc.Result
	for i := range 64 {
		all = append(all, ipc.Result{ID: fmt.Sprint("r", i), Status: ipc.Sent, Message: strings.Repeat("x", 3000)})
	}
	if err := s.WriteBatch("work", all); err != nil {
		t.Fatal(err)
	}
	if got := s.Batched("work"); len(got) != 64 || got["r63"] != ipc.Sent {
		t.Errorf("%d results are read back", len(got))
	}
	if err := s.WriteBatch("work", []ipc.Result{{ID: "r0", Status: ipc.Read}}); err != nil {
		t.Fatal(err)
	}
	c := ipc.NewClient(filepath.Join(dir, "work"))
	if r, err := c.Status("r0"); err != nil || r.Status != ipc.Read {
		t.Errorf("the later line does not count: %+v, %v", r, err)
	}
	if err := s.WriteBatch("work", []ipc.Result{{ID: "../x"}}); err == nil {
		t.Error("an invalid id was written")
	}
}

// Where the container can write to results/, what it plants there must not hold the
// host up or be read as the host's word on another group.
func TestWhatIsPlantedAsABatchHoldsNobodyUp(t *testing.T) {
	dir := prepareFast(t, "work")
	s := New(Options{Dir: dir, Folders: []string{"work"}})
	defer s.Close()
	results := filepath.Join(dir, "work", ipc.ResultsDir)
	if err := syscall.Mkfifo(filepath.Join(results, "0.batch"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(results, "1.batch")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(results, "2.batch"), []byte("{}\nnull\n{\"id\":\"\"}\n\x00\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteBatch("work", []ipc.Result{{ID: "r", Status: ipc.Sent}}); err != nil {
		t.Fatal(err)
	}
	if got := s.Batched("work"); len(got) != 1 || got["r"] != ipc.Sent {
		t.Errorf("read back: %v", got)
	}
}

// What waits for room has a file of its own, and the batch is newer.
func TestABatchedResultCountsMoreThanWhatItWaitedFor(t *testing.T) {
	dir := prepareFast(t, "work")
	s := New(Options{Dir: dir, Folders: []string{"work"}})
	defer s.Close()
	c := ipc.NewClient(filepath.Join(dir, "work"))
	if err := s.WriteResult("work", ipc.Result{ID: "r", Status: ipc.Queued, Code: "over_quota"}); err != nil {
		t.Fatal(err)
	}
	if r, err := c.Status("r"); err != nil || r.Code != "over_quota" {
		t.Errorf("%+v, %v", r, err)
	}
	if err := s.WriteBatch("work", []ipc.Result{{ID: "r", Status: ipc.Sent}}); err != nil {
		t.Fatal(err)
	}
	if r, err := c.Wait(t.Context(), "r", nil); err != nil || r.Status != ipc.Sent {
		t.Errorf("%+v, %v", r, err)
	}
}

// Two batches in one instant had one name, and the first was gone.
func TestTheClockNamesNoBatchTwice(t *testing.T) {
	dir := prepareFast(t, "work")
	s := New(Options{Dir: dir, Folders: []string{"work"}})
	defer s.Close()
	ahead := filepath.Join(dir, "work", ipc.ResultsDir, fmt.Sprintf("%019d.batch", time.Now().Add(time.Hour).UnixNano()))
	if err := os.WriteFile(ahead, []byte(`{"id":"r","status":"sent"}`+"\n"), 0o644); err != nil { // the clock was set back since
		t.Fatal(err)
	}
	for _, r := range []ipc.Result{{ID: "r", Status: ipc.Delivered}, {ID: "s", Status: ipc.Sent}, {ID: "r", Status: ipc.Read}} {
		if err := s.WriteBatch("work", []ipc.Result{r}); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Batched("work"); got["r"] != ipc.Read || got["s"] != ipc.Sent {
		t.Errorf("%v", got)
	}
}

func TestABatchWithLargeAnswersCanBeReadBack(t *testing.T) {
	dir := prepareFast(t, "work")
	s := New(Options{Dir: dir, Folders: []string{"work"}})
	defer s.Close()
	var all []ipc.Result
	for i := range 20 {
		all = append(all, ipc.Result{ID: fmt.Sprint("r", i), Status: ipc.Sent, Message: strings.Repeat("x", 2000), Data: []byte(`"` + strings.Repeat("y", (i/14%2)*(ipc.MaxData-2)) + `"`)})
	}
	if err := s.WriteBatch("work", all); err != nil {
		t.Fatal(err)
	}
	if got := s.Batched("work"); len(got) != 20 {
		t.Errorf("%d results are read back", len(got))
	}
}

package bridge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
)

// batched is asked, by a request that wants its result in a batch.
func batched(folder, request string) records.Delivery {
	d := asked(folder, request)
	d.Batch = true
	return d
}

func (s *site) resultFiles(folder string) (files, batches []string) {
	s.t.Helper()
	entries, err := os.ReadDir(s.layout.IPC(folder, ipc.ResultsDir))
	check(s.t, err)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".batch") {
			batches = append(batches, e.Name())
			continue
		}
		files = append(files, e.Name())
	}
	return files, batches
}

func TestResultsThatAreAskedForInABatchHaveNoFilesOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		stop := s.run(&told{})
		var all []records.Delivery
		for i := range 40 {
			all = append(all, batched("work", fmt.Sprint("many-", i)))
		}
		check(t, s.outbox.Put(t.Context(), append(all, asked("work", "alone"))))
		synctest.Wait()
		stop()
		files, batches := s.resultFiles("work")
		if len(files) != 1 || files[0] != "alone.json" {
			t.Errorf("files: %v", files)
		}
		client := ipc.NewClient(filepath.Dir(s.layout.IPC("work", ipc.ResultsDir)))
		results, last, err := client.Batches("")
		check(t, err)
		if len(results) != 40 || len(batches) > 40 || last != batches[len(batches)-1] {
			t.Errorf("%d results in %v, the last %q", len(results), batches, last)
		}
		for id, r := range results {
			if one, err := client.Status(id); err != nil || one.Status != ipc.Sent || one.MessageID != r.MessageID || r.MessageID == "" {
				t.Errorf("%s: %+v, %v", id, one, err)
			}
		}
		if more, _, err := client.Batches(last); err != nil || len(more) != 0 {
			t.Errorf("after the last: %v, %v", more, err)
		}
	})
}

// A start reads which results stand: it would have written all of a day again, and
// told the assistants of their failures again.
func TestAStartWritesNoBatchAgainAndTellsOfNoFailureAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, refusing)
		assistants := &told{}
		stop := s.run(assistants)
		check(t, s.outbox.Put(t.Context(), []records.Delivery{batched("work", "one"), batched("work", "two")}))
		synctest.Wait()
		stop()
		_, before := s.resultFiles("work")
		stop = s.run(assistants)
		synctest.Wait()
		stop()
		if _, after := s.resultFiles("work"); len(after) != len(before) {
			t.Errorf("batches before %v, after %v", before, after)
		}
		if len(assistants.words) != 2 {
			t.Errorf("the assistant was told %q", assistants.words)
		}
		// What a power loss has torn is written again.
		for _, name := range before {
			check(t, os.WriteFile(s.layout.IPC("work", ipc.ResultsDir)+"/"+name, []byte(`{"id":"one","sta`), 0o644))
		}
		stop = s.run(&told{})
		synctest.Wait()
		stop()
		if stands := s.spool.Batched("work"); stands["one"] != ipc.Failed || stands["two"] != ipc.Failed {
			t.Errorf("torn results were not written again: %v", stands)
		}
	})
}

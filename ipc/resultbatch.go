package ipc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// A request may ask for results in batches (Request.Batch): then its final results
// are lines of files that hold several, results/<19 digits>.batch, because creating a
// file for each costs more than all else of it. A later line about an id replaces an
// earlier one. A refusal, and what a request waits for, has a file of its own as usual.
const batchSuffix = ".batch"

// WriteBatch writes final results of one group to batch files, whose names grow while
// the host runs. The files are not synced. Errors are those of WriteResult.
func (s *Spool) WriteBatch(folder string, all []Result) error {
	var lines bytes.Buffer
	traced := 0
	for i, r := range all {
		if !ValidID(r.ID) {
			return fmt.Errorf("write results: %s is not a valid request id", quote(r.ID))
		}
		if err := json.NewEncoder(&lines).Encode(r); err != nil { // a line
			return fmt.Errorf("write results: %w", err)
		}
		if lines.Len() < MaxRequest/2 && i < len(all)-1 && lines.Len()+len(all[i+1].Data) < MaxRequest*7/8 {
			continue
		}
		g, err := s.write(folder, inResults, s.nextBatch(folder), lines.Bytes())
		if err != nil {
			return fmt.Errorf("write results: %w", err)
		}
		if g.written.Add(1)%pruneEvery == 0 {
			s.askPrune(g)
		}
		lines.Reset()
		for ; traced <= i; traced++ {
			s.trace(folder, all[traced].ID, "result")
		}
	}
	return nil
}

// nextBatch is a name after those of all batch files of a group, also if the clock was
// set back. Calls for one group come one after the other.
func (s *Spool) nextBatch(folder string) string {
	g := s.all()[folder]
	if g == nil {
		return ""
	}
	last := g.batch.Load()
	if last == 0 {
		_ = g.dirs.in(inResults, func(dir *os.Root) error { // what cannot be listed has no names in the way
			return each(dir, func(name string) error {
				if number, ok := strings.CutSuffix(name, batchSuffix); ok && len(number) == 19 {
					if n, err := strconv.ParseInt(number, 10, 64); err == nil && n < math.MaxInt64/2 {
						last = max(last, n)
					}
				}
				return nil
			})
		})
	}
	last = max(last+1, time.Now().UnixNano())
	g.batch.Store(last)
	return fmt.Sprintf("%019d%s", last, batchSuffix)
}

// Batched returns the status of each result that stands in a batch file of the group.
func (s *Spool) Batched(folder string) map[string]Status {
	g, known := s.all()[folder]
	if !known {
		return nil
	}
	s.rouse(g)
	stands := map[string]Status{}
	_ = g.dirs.in(inResults, func(dir *os.Root) error { // what cannot be read is written again
		var names []string
		err := each(dir, func(name string) error {
			names = append(names, name)
			return nil
		})
		for id, r := range lastOf(names, func(name string) []byte {
			b, _, _ := readRequest(dir, name) // does not block on a pipe in its place
			return b
		}) {
			stands[id] = r.Status
		}
		return err
	})
	return stands
}

// Batches reads the batch files after the one of that name, or all if it is empty, and
// returns the last result of each request in them and the name of the last file. A host
// writes a file whole, under a name that sorts after those before.
func (c *Client) Batches(after string) (results map[string]Result, last string, err error) {
	entries, err := safefs.ReadDir(c.path(ResultsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, after, fmt.Errorf("read results: %w", err)
	}
	names := []string{}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), batchSuffix) && e.Name() > after {
			names = append(names, e.Name())
			last = e.Name()
		}
	}
	return lastOf(names, func(name string) []byte {
		b, _ := os.ReadFile(filepath.Join(c.path(ResultsDir), name)) // deleted meanwhile: too old
		return b
	}), max(last, after), nil
}

// lastOf is the last result of each request in the batch files among the names. A line
// that is not a result is skipped.
func lastOf(names []string, read func(name string) []byte) map[string]Result {
	all := map[string]Result{}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if !strings.HasSuffix(name, batchSuffix) || strings.HasPrefix(name, ".") {
			continue
		}
		for line := range bytes.Lines(read(name)) {
			var r Result
			if json.Unmarshal(line, &r) == nil && ValidID(r.ID) {
				all[r.ID] = r
			}
		}
	}
	return all
}

package spool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
)

// WriteBatch writes final results of one group to batch files, whose names grow while
// the host runs. The files are not synced. Errors are those of WriteResult.
func (s *Spool) WriteBatch(folder string, all []ipc.Result) error {
	var lines bytes.Buffer
	traced := 0
	for i, r := range all {
		if !ipc.ValidID(r.ID) {
			return fmt.Errorf("write results: %s is not a valid request id", ipc.Printable(r.ID))
		}
		if err := json.NewEncoder(&lines).Encode(r); err != nil { // a line
			return fmt.Errorf("write results: %w", err)
		}
		if lines.Len() < ipc.MaxRequest/2 && i < len(all)-1 && lines.Len()+len(all[i+1].Data) < ipc.MaxRequest*7/8 {
			continue
		}
		name := s.nextBatch(folder)
		s.note(folder, name)
		g, err := s.write(folder, inResults, name, lines.Bytes())
		if err != nil {
			return fmt.Errorf("write results: %w", err)
		}
		s.wrote(g)
		lines.Reset()
		for ; traced <= i; traced++ {
			s.trace(folder, all[traced].ID, "result")
		}
	}
	return nil
}

// nextBatch returns a name that sorts after all batch files of a group, even if the clock
// was set back. Calls for one group must not overlap.
func (s *Spool) nextBatch(folder string) string {
	g := s.all()[folder]
	if g == nil {
		return ""
	}
	last := g.batch.Load()
	if last == 0 {
		_ = g.dirs.in(inResults, func(dir *os.Root) error { // what cannot be listed has no names in the way
			return each(dir, func(name string) error {
				if number, ok := strings.CutSuffix(name, ipc.BatchSuffix); ok && len(number) == 19 {
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
	return fmt.Sprintf("%019d%s", last, ipc.BatchSuffix)
}

// Batched returns the status of each result in the group's batch files.
func (s *Spool) Batched(folder string) map[string]ipc.Status {
	g, known := s.all()[folder]
	if !known {
		return nil
	}
	s.rouse(g)
	stands := map[string]ipc.Status{}
	_ = g.dirs.in(inResults, func(dir *os.Root) error { // what cannot be read is written again
		var names []string
		err := each(dir, func(name string) error {
			names = append(names, name)
			return nil
		})
		for id, r := range ipc.LastResults(names, func(name string) []byte {
			b, _, _ := readRequest(dir, name) // does not block on a pipe in its place
			return b
		}) {
			stands[id] = r.Status
		}
		return err
	})
	return stands
}

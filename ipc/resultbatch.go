package ipc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// A request may ask for results in batches (Request.Batch): then its final results
// are lines of files that hold several, results/<19 digits>.batch, because creating a
// file for each costs more than all else of it. A later line about an id replaces an
// earlier one. A refusal, and what a request waits for, has a file of its own as usual.
const BatchSuffix = ".batch"

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
		if strings.HasSuffix(e.Name(), BatchSuffix) && e.Name() > after {
			names = append(names, e.Name())
			last = e.Name()
		}
	}
	return LastResults(names, func(name string) []byte {
		b, _ := os.ReadFile(filepath.Join(c.path(ResultsDir), name)) // deleted meanwhile: too old
		return b
	}), max(last, after), nil
}

// LastResults returns the last result of each request in the batch files among the names.
// It skips lines that are not results.
func LastResults(names []string, read func(name string) []byte) map[string]Result {
	all := map[string]Result{}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if !strings.HasSuffix(name, BatchSuffix) || strings.HasPrefix(name, ".") {
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

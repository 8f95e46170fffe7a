package ipc

import (
	"context"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	pruneEvery = 256 // results written to one group
	maxResults = 1000
	resultAge  = 7 * 24 * time.Hour
	stagedAge  = 24 * time.Hour
)

// prune removes what nobody will ask for any more: at the start, every hour,
// and where many results were written.
func (s *Spool) prune(ctx context.Context) {
	for {
		for _, g := range s.groups {
			if ctx.Err() != nil {
				return
			}
			s.pruneGroup(g)
		}
		hour := time.After(time.Hour)
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return
			case g := <-s.prunes:
				s.pruneGroup(g)
			case <-hour:
				waiting = false
			}
		}
	}
}

// askPrune is for WriteResult, which must not wait.
func (s *Spool) askPrune(g *group) {
	select {
	case s.prunes <- g:
	default:
	}
}

func (s *Spool) pruneGroup(g *group) {
	defer g.dirs.close()
	// What cannot be pruned now can be in an hour; list tells of a directory
	// that cannot be used at all.
	_ = g.dirs.in(inResults, pruneResults)
	waiting := true
	_ = g.dirs.in(inMessages, func(dir *os.Root) error {
		entries, err := entriesOf(dir)
		waiting = err != nil || slices.ContainsFunc(entries, func(e fs.FileInfo) bool { return isRequest(e.Name()) })
		return err
	})
	if !waiting { // a request that waits may name what is staged
		_ = g.dirs.in(inFiles, pruneStaged)
	}
}

func pruneResults(dir *os.Root) error {
	entries, err := entriesOf(dir)
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for i, e := range entries {
		age := time.Since(e.ModTime())
		if i >= maxResults || age > resultAge || age > time.Hour && strings.HasPrefix(e.Name(), temporaryPrefix) {
			if err := dir.RemoveAll(e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

func pruneStaged(dir *os.Root) error {
	entries, err := entriesOf(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() && time.Since(e.ModTime()) > stagedAge {
			if err := dir.RemoveAll(e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// entriesOf lists a directory without following links.
func entriesOf(dir *os.Root) ([]fs.FileInfo, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdir(-1)
}

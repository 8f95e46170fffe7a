package spool

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/ipc"
)

const (
	pruneEvery = maxResults     // number of results written to a group between prunings
	maxResults = 1000           // results kept of one group
	stagedAge  = 24 * time.Hour // age at which staged files are deleted
)

// pruned is what the last pruning has left of a group's results.
type pruned struct {
	done    bool
	written int64     // results written until then
	oldest  time.Time // that is left; zero: none is
}

// names are those of result files.
type names map[string]struct{}

// prune deletes old results, staged files and entries of the errors folder: a minute after
// the start, when the backlog is gone, and then every hour. After every pruneEvery results
// of a group, it deletes the group's oldest.
func (s *Spool) prune(ctx context.Context) {
	for pause := time.Minute; ; pause = time.Hour {
		next := time.After(pause)
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return
			case g := <-s.prunes:
				s.pruneOldest(g)
			case <-next:
				waiting = false
			}
		}
		for _, g := range s.all() {
			if ctx.Err() != nil {
				return
			}
			s.pruneGroup(g)
			g.dirs.close()
			runtime.Gosched() // nobody waits for it
		}
		if err := s.errors.expire(s.opts.Keep().Errors); err != nil {
			s.log.Warn("old entries of the errors folder were not deleted", "error", err)
		}
	}
}

// wrote counts a result, and schedules a pruning after every pruneEvery. It never blocks.
func (s *Spool) wrote(g *group) {
	if g.written.Add(1)%pruneEvery == 0 {
		select {
		case s.prunes <- g:
		default:
		}
	}
}

// note keeps the name of a result that is about to be written, so that a pruning does not delete what is written.
func (s *Spool) note(folder, name string) {
	g, known := s.all()[folder]
	if !known {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kept != nil {
		g.since[name] = struct{}{}
	}
}

// stale deletes a result unless it was written again.
func (g *group) stale(dir *os.Root, name string, since names) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, again := since[name]
	_, now := g.since[name]
	if !again && !now {
		_ = dir.Remove(name)
	}
}

// pruneOldest deletes all but the newest results of a group that writes many. The first time
// it lists the directory. From then on the group knows the names: those that were left, and
// those that were written since. The hourly pruning forgets them, and lists.
func (s *Spool) pruneOldest(g *group) {
	g.mu.Lock()
	old, since, many := g.kept, g.since, len(g.since) >= maxResults
	if many {
		g.kept, g.since = since, names{}
	}
	g.mu.Unlock()
	_ = g.dirs.in(inResults, func(dir *os.Root) error { // errors are ignored, as in pruneGroup
		if old == nil {
			left, _, err := s.pruneResults(dir)
			g.remember(left)
			return err
		}
		if many {
			for name := range old {
				g.stale(dir, name, since)
			}
		}
		return nil
	})
}

// remember takes the names of all results of the group; nil: they are not known.
func (g *group) remember(left names) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.kept, g.since = left, names{}
}

func (s *Spool) pruneGroup(g *group) {
	g.remember(nil)
	// Errors are ignored: the next pruning tries again, and list logs a directory
	// that cannot be used at all.
	last, written := g.pruned, g.written.Load()
	if !last.done || last.written != written || !last.oldest.IsZero() && time.Since(last.oldest) > s.keepResults() {
		_ = g.dirs.in(inResults, func(dir *os.Root) error {
			_, oldest, err := s.pruneResults(dir)
			g.pruned = pruned{err == nil, written, oldest}
			return err
		})
	}
	if g.bare.Load() {
		return
	}
	waiting := true
	_ = g.dirs.in(inMessages, func(dir *os.Root) error {
		found := false
		err := each(dir, func(name string) error {
			found = found || ipc.IsRequest(name)
			return nil
		})
		waiting = err != nil || found
		return err
	})
	if !waiting { // a waiting request may name staged files
		_ = g.dirs.in(inFiles, pruneStaged)
	}
}

func (s *Spool) keepResults() time.Duration {
	return cmp.Or(s.opts.Keep().Results, 7*24*time.Hour)
}

// pruneResults returns the names of the results that stay, and when the oldest was written;
// zero if none stays.
func (s *Spool) pruneResults(dir *os.Root) (left names, oldest time.Time, err error) {
	entries, err := entriesOf(dir)
	if err != nil {
		return nil, oldest, err
	}
	left = names{}
	keep := s.keepResults()
	slices.SortFunc(entries, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for i, e := range entries {
		age, temporary := time.Since(e.ModTime()), strings.HasPrefix(e.Name(), temporaryPrefix)
		switch {
		case i >= maxResults || age > keep || age > time.Hour && temporary:
			if err := removeTree(dir, e.Name()); err != nil {
				return nil, oldest, err
			}
		case temporary: // it is left by a crash, or being renamed now: looked at in an hour
			oldest = e.ModTime().Add(time.Hour - keep)
		default:
			oldest = e.ModTime()
			left[e.Name()] = struct{}{}
		}
	}
	return left, oldest, nil
}

// pruneStaged continues after an entry that it cannot remove: the container may have
// planted that entry on purpose.
func pruneStaged(dir *os.Root) error {
	return each(dir, func(name string) error {
		if info, err := dir.Lstat(name); err == nil && info.IsDir() && time.Since(info.ModTime()) > stagedAge {
			_ = removeTree(dir, name)
		}
		return nil
	})
}

// each calls fn for every name in a directory. It reads the names in chunks, as the
// container may have put any number there.
func each(dir *os.Root, fn func(name string) error) error {
	f, err := openSelf(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(256)
		for _, name := range names {
			if err := fn(name); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// The limits of removeTree. They suffice for every honest tree, since a staged file
// has a directory of its own.
const (
	maxDepth   = 4
	maxRemoved = 10_000
)

var errLargeTree = errors.New("the directory tree is too deep or too large to delete")

// removeTree removes a file, or a directory with its content, unless the tree is
// deeper or larger than the limits. os.Root.RemoveAll would hold a descriptor for
// each level, so deeply nested directories could use up all of the host's
// descriptors.
func removeTree(dir *os.Root, name string) error {
	left := maxRemoved
	return removeLevel(dir, name, maxDepth, &left)
}

func removeLevel(dir *os.Root, name string, depth int, left *int) error {
	if *left--; *left < 0 {
		return errLargeTree
	}
	err := dir.Remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if depth == 0 {
		return errLargeTree
	}
	sub, openErr := safefs.OpenDir(dir, name)
	if openErr != nil {
		return err
	}
	defer sub.Close()
	if err := each(sub, func(name string) error { return removeLevel(sub, name, depth-1, left) }); err != nil {
		return err
	}
	return dir.Remove(name)
}

// openSelf opens a directory to list it. With the flag, the os package makes four
// system calls less.
func openSelf(dir *os.Root) (*os.File, error) {
	return dir.OpenFile(".", os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// entriesOf lists a directory without following links.
func entriesOf(dir *os.Root) ([]fs.FileInfo, error) {
	f, err := openSelf(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdir(-1)
}

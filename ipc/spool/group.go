package spool

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/ipc"
)

// maxFresh is the number of names from events that are kept. Beyond it, listing the
// directory is cheaper.
const maxFresh = 4096

// group is the spool's state of one group.
type group struct {
	folder  string
	dirs    dirs
	written atomic.Int64 // number of results written
	batch   atomic.Int64 // the last batch file; 0: none yet since the start
	first   atomic.Bool  // no batch since the start
	awake   atomic.Bool  // in Spool.awake
	bare    atomic.Bool  // files/ was empty when it was last listed
	pruned  pruned       // only the pruning uses it

	mu      sync.Mutex
	queued  bool                // in Spool.ready, or in a batch
	dirty   bool                // must be listed before the next batch
	rewatch bool                // its directories changed and must be watched anew
	held    bool                // a request was deferred: no batch until Wake or the next check
	woken   bool                // release was called during the current batch
	fresh   []string            // names from events since the last batch
	handled map[string]struct{} // accepted or refused and not unlinked yet, or stepped over
	stepped []string            // could not be read; tried again at the next check
	stamps  [2]stamp            // of messages/ and files/ at the last listing
	told    chan struct{}       // closed at the next result; nil: nobody waits
	kept    names               // results that the last pruning has left; nil: not known
	since   names               // results written since then
	stuck   Stuck               // zero: nothing waits for a reason

	// Only the goroutine that has the group's batch uses these fields.
	names   []string // of requests, listed, not handed out yet, sorted
	more    bool     // the directory holds more names than were kept
	size    int      // of the next batch, in requests
	later   map[string]*waiting
	watched [2]watchMark
	problem string // last problem that was logged
}

// waiting is a request that was deferred.
type waiting struct {
	first    time.Time
	attempts int
	reason   string    // of the last result: a code, maybe after behindA
	leased   time.Time // when a lease was first seen to block the file; zero if none does
}

// stamp is the state of a directory when it was listed.
type stamp struct {
	id       safefs.Identity // zero: it could not be listed
	modified int64           // of the directory, in ns since 1970
	at       int64           // likewise
}

// Stuck is the first request of a queue while the host defers it; all others wait behind it.
type Stuck struct {
	Request string // its id, printable
	Since   time.Time
	Why     ipc.Refusal
}

// Stuck returns what a group's queue waits for; ok is false if it waits for nothing.
func (s *Spool) Stuck(folder string) (stuck Stuck, ok bool) {
	g := s.all()[folder]
	if g == nil {
		return stuck, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stuck, g.stuck.Request != ""
}

// watchMark is the directory that is being watched.
type watchMark struct {
	watcher *fsnotify.Watcher
	id      safefs.Identity
}

// look schedules the group for a listing.
func (s *Spool) look(g *group, rewatch bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dirty = true
	g.rewatch = g.rewatch || rewatch
	s.enqueue(g)
}

// announce takes a name from an event. If the group is held, an event only stores
// the name.
func (s *Spool) announce(g *group, name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.fresh) < maxFresh {
		g.fresh = append(g.fresh, name)
	} else {
		g.dirty = true
	}
	s.enqueue(g)
}

// release ends the hold of a group.
func (s *Spool) release(g *group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.woken = true
	if g.held {
		g.held = false
		s.enqueue(g)
	}
}

// enqueue makes the group ready for a batch, unless it is held. It is called with
// g.mu held.
func (s *Spool) enqueue(g *group) {
	if !g.queued && !g.held {
		s.rouse(g)
		g.queued = true
		s.ready.add(g)
	}
}

// take returns the names of the next batch.
func (s *Spool) take(g *group) []string {
	g.mu.Lock()
	dirty, rewatch, fresh := g.dirty || g.more && len(g.names) == 0, g.rewatch, g.fresh
	g.dirty, g.rewatch, g.fresh, g.woken = false, false, nil, false
	if !dirty && !g.more {
		for _, name := range fresh {
			if _, ok := g.handled[name]; !ok {
				g.names = append(g.names, name)
			}
		}
	}
	g.mu.Unlock()
	if rewatch {
		g.watched = [2]watchMark{}
	}
	if dirty {
		s.list(g)
	} else if len(fresh) > 0 {
		slices.SortFunc(g.names, byID)
		g.names = slices.Compact(g.names)
	}
	n := s.fair(min(g.size, len(g.names)), len(g.names))
	batch := g.names[:n:n]
	g.names = g.names[n:]
	return batch
}

// done ends a batch. The group goes to the end of the line if it has more requests,
// is held if later is true, and is idle otherwise.
func (s *Spool) done(g *group, later bool) {
	if g.first.Swap(false) && s.unlisted.Add(-1) == 0 {
		close(s.listed)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queued = false
	g.held = later && !g.woken
	if g.dirty || g.more || len(g.fresh) > 0 || len(g.names) > 0 {
		s.enqueue(g)
	}
}

// list reads the group's directories.
func (s *Spool) list(g *group) {
	g.dirs.verify()
	g.names, g.more = nil, false
	for p := inMessages; p <= inFiles; p++ {
		var seen stamp
		err := g.dirs.in(p, func(dir *os.Root) error {
			info, err := dir.Stat(".")
			if err != nil {
				return err
			}
			id, _ := safefs.Identify(info)
			seen = stamp{id, info.ModTime().UnixNano(), time.Now().UnixNano()}
			s.watchDir(g, p, seen.id)
			return s.readNames(g, p, dir)
		})
		if err != nil {
			seen.id = safefs.Identity{}
		}
		g.mu.Lock()
		g.stamps[p] = seen
		g.mu.Unlock()
		s.complain(g, p, err)
	}
	if len(g.names) == 0 {
		g.dirs.close() // nothing to read; at a start, thousands of groups come through here
	}
	slices.SortFunc(g.names, byID)
	if !g.more {
		for name := range g.later {
			if _, ok := slices.BinarySearchFunc(g.names, name, byID); !ok && !g.isHandled(name) {
				delete(g.later, name)
			}
		}
	}
}

// readNames appends the names of a directory's requests to g.names. If there are
// more than may be kept, it keeps those that sort first.
func (s *Spool) readNames(g *group, p place, dir *os.Root) error {
	f, err := openSelf(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	const most = 4096
	for chunk := 0; ; chunk++ {
		entries, err := f.Readdirnames(most)
		if p == inFiles && chunk == 0 {
			g.bare.Store(len(entries) == 0)
		}
		g.mu.Lock()
		for _, name := range entries {
			if !ipc.IsRequest(name) {
				continue
			}
			if p == inFiles {
				name = ipc.FilesDir + "/" + name
			}
			if _, ok := g.handled[name]; !ok {
				g.names = append(g.names, name)
			}
		}
		g.mu.Unlock()
		if len(g.names) > s.opts.list {
			slices.SortFunc(g.names, byID)
			g.names, g.more = slices.Clip(g.names[:s.opts.list]), true
		}
		if err != nil || len(entries) < most {
			return nil // io.EOF; another error is seen again at the next check
		}
	}
}

// complain logs that a directory cannot be used, once for each problem.
func (s *Spool) complain(g *group, p place, err error) {
	text := ""
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		text = err.Error()
	}
	if p == inMessages && text != g.problem {
		g.problem = text
		if text != "" {
			s.noise.say(slog.LevelError, "queue directory cannot be used", g.folder, "directory", p.String(), "error", err)
		}
	}
}

// quiet reports whether the group was last listed over ten seconds ago, has no request
// that waits, and has had no directory in use since the last trim.
func (g *group) quiet() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.held && !g.queued && len(g.stepped) == 0 && !g.dirs.used.Load() && time.Since(time.Unix(0, g.stamps[inMessages].at)) > 10*time.Second
}

// changed reports whether a new listing may find something new. Modification times
// are coarse, so a directory that changed less than 100 ms before its listing counts
// as changed.
func (g *group) changed(dir string) bool {
	g.mu.Lock()
	stamps := g.stamps
	g.mu.Unlock()
	for p, st := range stamps {
		id, modified, err := safefs.LookAt(filepath.Join(dir, g.folder, place(p).String()))
		if err != nil {
			if st.id != (safefs.Identity{}) {
				return true // the directory has been removed
			}
			continue
		}
		if id != st.id || modified != st.modified ||
			st.at-st.modified < int64(100*time.Millisecond) {
			return true
		}
	}
	return false
}

// byID compares names by request id, regardless of the directory.
func byID(a, b string) int {
	if c := strings.Compare(strings.TrimPrefix(a, ipc.FilesDir+"/"), strings.TrimPrefix(b, ipc.FilesDir+"/")); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

// fairTime is how long large batches stay small after a small one.
const fairTime = 100 * time.Millisecond

// fair returns how many of the next n requests go into a batch if that many wait. While
// somebody else's few requests come, a backlog goes in smaller batches: what is recorded
// together makes them wait.
func (s *Spool) fair(n, waiting int) int {
	few := max(s.opts.Batch/8, 1)
	if n > few && time.Since(time.Unix(0, s.few.Load())).Abs() < fairTime {
		return few
	}
	if 0 < n && n <= few && n == waiting {
		s.few.Store(time.Now().UnixNano())
	}
	return n
}

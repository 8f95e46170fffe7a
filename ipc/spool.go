package ipc

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
)

// SpoolOptions are what a Spool is made of; Dir and Folders are needed.
type SpoolOptions struct {
	Dir     string   // the queue directory, which holds the groups' folders
	Folders []string // of the groups that are served; each a ValidID

	// Restore makes those of a group's directories that have vanished, and
	// the errors folder, in the modes and with the owners that the host wants.
	// It is called where the spool would write, from several goroutines.
	// Nil: nothing is made, and what has no place is not written.
	Restore func(folder string) error

	Log         *slog.Logger                       // nil: none
	Trace       func(folder, request, step string) // "read", "unlinked", "result"; nil: none
	Rescan      time.Duration                      // how often every group is checked without an event; 0: 5 s
	Poll        bool                               // use no events, as on NFS: check every second
	Batch       int                                // most requests in one batch; 0: 64
	KeepResults time.Duration                      // after their last change; 0: 7 days. At most 1000 of a group stay
	KeepErrors  time.Duration                      // entries of the errors folder; 0: for ever. At most 1000 and 64 MiB of a group stay

	watcher func() (*fsnotify.Watcher, error) // for tests; nil: fsnotify.NewWatcher
	list    int                               // names of a group kept in memory; 0: 16384
}

// Spool is the host's end of the queue. It reads each request once, hands it
// out ([Spool.Next]), and unlinks it after it was accepted. Requests of one
// group come in the order of their names, groups take turns.
//
// A request may be handed out again after a crash, as unlinking comes last;
// whoever accepts it must know it by its content.
type Spool struct {
	opts     SpoolOptions
	log      *slog.Logger
	noise    *noise
	base     *base
	groups   map[string]*group
	errors   *quarantine
	ready    chan *group // each group at most once, so sending never blocks
	prunes   chan *group
	removals chan []removal
	watcher  atomic.Pointer[fsnotify.Watcher]
	blind    atomic.Bool // some directory could not be watched

	mu      sync.Mutex     // guards ended
	ended   bool           // no further batch is handed out
	stopped chan struct{}  // closed then
	batches sync.WaitGroup // those that are not Done
}

// NewSpool returns a spool that is not running. Results and contexts
// can be written before, while and after it runs, until Close.
func NewSpool(o SpoolOptions) *Spool {
	if o.Rescan <= 0 {
		o.Rescan = 5 * time.Second
	}
	if o.Batch <= 0 {
		o.Batch = 64
	}
	if o.KeepResults <= 0 {
		o.KeepResults = 7 * 24 * time.Hour
	}
	if o.list <= 0 {
		o.list = 16384
	}
	if o.watcher == nil {
		o.watcher = fsnotify.NewWatcher
	}
	if abs, err := filepath.Abs(o.Dir); err == nil {
		o.Dir = abs // events carry the path that is watched
	}
	s := &Spool{
		opts:   o,
		log:    o.Log,
		base:   &base{path: o.Dir},
		groups: make(map[string]*group, len(o.Folders)),
		ready:  make(chan *group, len(o.Folders)),
		prunes: make(chan *group, 16),

		removals: make(chan []removal, 256),
		stopped:  make(chan struct{}),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.noise = newNoise(s.log)
	s.errors = &quarantine{base: s.base, restore: o.Restore}
	for i, folder := range o.Folders {
		s.groups[folder] = &group{folder: folder, index: i, dirs: dirs{base: s.base, folder: folder, restore: o.Restore}, size: o.Batch}
	}
	return s
}

// Run serves the queue until ctx is done, which is no error, and every batch
// that was handed out is Done. When it returns, its goroutines have ended and
// everything accepted is unlinked. It is called once.
func (s *Spool) Run(ctx context.Context) error {
	if _, err := s.base.open(); err != nil {
		s.end()
		return err
	}
	watching := s.watch(ctx) // before the first listing, so that nothing falls between
	for _, g := range s.groups {
		s.look(g, true)
	}
	var pruning, unlinking sync.WaitGroup
	unlinking.Go(s.unlink)
	pruning.Go(func() { s.prune(ctx) })
	s.rescan(ctx)
	s.end()
	pruning.Wait()
	close(s.removals)
	unlinking.Wait()
	watching.Wait()
	s.noise.report(0)
	return nil
}

// begin counts a batch, unless Run has ended.
func (s *Spool) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.batches.Add(1)
	}
	return !s.ended
}

// end lets no further batch begin and waits for those that have.
func (s *Spool) end() {
	s.mu.Lock()
	s.ended = true
	close(s.stopped)
	s.mu.Unlock()
	s.batches.Wait()
}

// Close lets go of the directories. Nothing may be called afterwards.
func (s *Spool) Close() error {
	for _, g := range s.groups {
		g.dirs.close()
	}
	return s.base.close()
}

// Wake has a group's deferred requests handed out again, because there is
// room now.
func (s *Spool) Wake(folder string) {
	if g, ok := s.groups[folder]; ok {
		s.release(g)
	}
}

// rescan checks every group from time to time, because an event may be lost. A
// check reads the change time of each directory; only a directory that changed
// is listed.
func (s *Spool) rescan(ctx context.Context) {
	for round := 0; ; round++ {
		pause := s.opts.Rescan
		if !s.sees() {
			pause = min(pause, time.Second)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		s.lookRound(round)
	}
}

// sees says whether every change should make an event.
func (s *Spool) sees() bool { return s.watcher.Load() != nil && !s.blind.Load() }

// lookRound checks every group. A group that is watched and has been quiet for
// a while is checked every fourth time only, so that thousands of quiet groups
// cost next to nothing.
func (s *Spool) lookRound(round int) {
	s.noise.report(time.Minute)
	sees := s.sees()
	for _, g := range s.groups {
		if sees && (round+g.index)%4 != 0 && g.quiet() {
			continue
		}
		s.again(g)
		if g.changed(s.opts.Dir) {
			s.look(g, false)
		}
		s.release(g)
		g.dirs.trim()
	}
}

func (s *Spool) trace(folder, request, step string) {
	if s.opts.Trace != nil {
		s.opts.Trace(folder, request, step)
	}
}

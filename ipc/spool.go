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

// Drop is one request as it was read: nothing that the container does
// afterwards changes it.
type Drop struct {
	Folder  string // the group it comes from, known by its directory alone
	Name    string // of the file below messages/, or "files/…" for one that a fork wrote there
	ID      string // the file's name without ".json"; a valid id, trusted for no more
	Body    []byte
	ModTime time.Time
	Request Request
}

// Verdict is the handler's word on one Drop. The zero value accepts it: it is
// kept durably elsewhere and will be unlinked.
type Verdict struct {
	Refusal *Refusal // not accepted: to the errors folder, with a refused result
	Later   bool     // not now: it stays, its result says queued, and it comes again
	Code    string   // of the queued result; optional
	Note    string   // its message; optional
}

// Handler takes requests of one group, sorted by name, and returns a verdict
// for each. It is never called twice at once for a group. A request whose
// verdict is missing comes again.
type Handler func(ctx context.Context, folder string, drops []Drop) []Verdict

// SpoolOptions are what a Spool is made of; Dir, Folders and Handler are needed.
type SpoolOptions struct {
	Dir     string   // the queue directory, which holds the groups' folders
	Folders []string // of the groups that are served; each a ValidID
	Handler Handler

	// Restore makes those of a group's directories that have vanished, and
	// the errors folder, in the modes and with the owners that the host wants.
	// It is called where the spool would write, from several goroutines.
	// Nil: nothing is made, and what has no place is not written.
	Restore func(folder string) error

	Log         *slog.Logger                       // nil: none
	Trace       func(folder, request, step string) // "read", "unlinked", "result"; nil: none
	Rescan      time.Duration                      // between two looks by itself; 0: 5 s
	Poll        bool                               // do not rely on events at all, as for NFS: look every second
	Workers     int                                // groups that are handled at once; 0: 4
	Batch       int                                // requests in one call of the Handler; 0: 64
	KeepResults time.Duration                      // after their last change; 0: 7 days. At most 1000 of a group stay
	KeepErrors  time.Duration                      // entries of the errors folder; 0: for ever. At most 1000 and 64 MiB of a group stay

	watcher func() (*fsnotify.Watcher, error) // for tests; nil: fsnotify.NewWatcher
	list    int                               // names of a group kept in memory; 0: 16384
}

// Spool is the host's end of the queue. It reads each request once, hands it
// over, and unlinks it after it was accepted. Requests of one group come in
// the order of their names, groups take turns.
//
// A request may be handed over again after a crash, as unlinking comes last;
// the Handler knows it by its content.
type Spool struct {
	opts     SpoolOptions
	log      *slog.Logger
	base     *base
	groups   map[string]*group
	errors   *quarantine
	ready    chan *group // each group at most once, so sending never blocks
	prunes   chan *group
	removals chan []removal
	watcher  atomic.Pointer[fsnotify.Watcher]
	blind    atomic.Bool // some directory could not be watched
}

// NewSpool returns a spool that is not running. Results and contexts
// can be written before, while and after it runs, until Close.
func NewSpool(o SpoolOptions) *Spool {
	if o.Rescan <= 0 {
		o.Rescan = 5 * time.Second
	}
	if o.Workers <= 0 {
		o.Workers = 4
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
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.errors = &quarantine{base: s.base, restore: o.Restore}
	for i, folder := range o.Folders {
		s.groups[folder] = &group{folder: folder, index: i, dirs: dirs{base: s.base, folder: folder, restore: o.Restore}, size: o.Batch}
	}
	return s
}

// Run serves the queue until ctx is done, which is no error. When it returns,
// its goroutines have ended and everything accepted is unlinked. It is called
// once.
func (s *Spool) Run(ctx context.Context) error {
	if _, err := s.base.open(); err != nil {
		return err
	}
	s.removals = make(chan []removal, 256)
	watching := s.watch(ctx) // before the first listing, so that nothing falls between
	for _, g := range s.groups {
		s.look(g, true)
	}
	var working, unlinking sync.WaitGroup
	unlinking.Go(s.unlink)
	for range s.opts.Workers {
		working.Go(func() { s.work(ctx) })
	}
	working.Go(func() { s.prune(ctx) })
	s.rescan(ctx)
	working.Wait()
	close(s.removals)
	unlinking.Wait()
	watching.Wait()
	return nil
}

// Close lets go of the directories. Nothing may be called afterwards.
func (s *Spool) Close() error {
	for _, g := range s.groups {
		g.dirs.close()
	}
	return s.base.close()
}

// Wake has a group's waiting requests handed over again, because there is
// room now.
func (s *Spool) Wake(folder string) {
	if g, ok := s.groups[folder]; ok {
		s.release(g)
	}
}

// rescan looks at every group from time to time, because an event is a hint
// and may be lost. A look is one question per directory; only one that changed is
// listed.
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

// lookRound looks at every group; at one that is watched and has been quiet
// for a while only every fourth time, so that thousands of them cost next to
// nothing.
func (s *Spool) lookRound(round int) {
	sees := s.sees()
	for _, g := range s.groups {
		if sees && (round+g.index)%4 != 0 && g.quiet() {
			continue
		}
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

// Package spool is the host's end of the queue of package ipc. A [Spool] watches the
// directories of all groups, reads each request once, and hands requests out in
// batches ([Spool.Next]). It writes results, keeps the errors folder, and deletes what
// is old.
//
// A request is first a dotted file, then <id>.json, then a durable record of the
// host. Only after that does the spool unlink the file. A rename proves nothing: the
// container may still hold the file open. So only the bytes count that the spool has
// read once into memory.
package spool

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/longshore-bridge/longshore/internal/wake"
)

// Options are the settings of a Spool. Dir and Folders are required.
type Options struct {
	Dir     string   // the queue directory, which holds the groups' folders
	Folders []string // of the groups to serve from the start; each must be a ValidID

	// Restore creates those of a group's directories that have vanished, and the
	// errors folder, with the modes and owners that the host wants. The spool calls
	// it before a write, from several goroutines. If Restore is nil, a missing
	// directory stays missing and the write fails.
	Restore func(folder string) error

	// Known reports whether the host has recorded a request of a group under this id. What a power
	// loss has left of its file is then unlinked. If Known is nil, no request is recorded.
	Known func(folder, id string) bool

	// Refused is called after a request was put into the errors folder and before its
	// result is written, from several goroutines; may be nil.
	Refused func(Quarantined, *Item)

	Log    *slog.Logger                       // nil: none
	Trace  func(folder, request, step string) // "read", "unlinked", "result"; nil: none
	Rescan time.Duration                      // interval at which every group is checked without an event; 0: 5 s
	Poll   bool                               // do not use events, for example on NFS: check every second
	Batch  int                                // most requests in one batch; 0: 64
	Keep   func() Keep                        // asked at each use; nil: the zero value

	watcher func() (*fsnotify.Watcher, error) // for tests; nil: fsnotify.NewWatcher
	list    int                               // number of names per group kept in memory; 0: 16384
}

// Keep says for how long the spool keeps what it has written.
type Keep struct {
	Results time.Duration // age since their last change; 0: 7 days. At most 1000 per group are kept
	Errors  time.Duration // age of entries of the errors folder; 0: unlimited. At most 1000 and 64 MiB per group are kept
}

// Spool is the host's end of the queue. It reads each request once, hands it out
// ([Spool.Next]), and unlinks it after it was accepted. Requests of one group come
// in the order of their names; groups are served in turn.
//
// The unlinking comes last, so a request may be handed out again after a crash. The
// caller must recognise a request that it has already accepted.
type Spool struct {
	few      atomic.Int64 // when the last small batch was handed out, in nanoseconds; see fair
	opts     Options
	log      *slog.Logger
	noise    *noise
	base     *base
	groups   atomic.Pointer[served]
	adding   sync.Mutex // held while groups is replaced
	errors   *quarantine
	ready    *line
	prunes   chan *group
	removals chan []removal
	watcher  atomic.Pointer[fsnotify.Watcher]
	blind    atomic.Bool // some directory could not be watched

	mu      sync.Mutex     // guards ended and awake
	ended   bool           // no further batch is handed out
	awake   []*group       // groups that were active since they were last found quiet
	stopped chan struct{}  // closed when ended is set
	batches sync.WaitGroup // batches that are not Done

	unlisted atomic.Int64  // groups that Run began with and that had no batch yet
	listed   chan struct{} // closed when they all are
}

// served is the groups of a Spool. It never changes.
type served struct {
	byFolder map[string]*group
	inTurn   []*group
}

// New returns a spool that does not run yet. Results and contexts can be
// written before, during and after Run, until Close.
func New(o Options) *Spool {
	if o.Rescan <= 0 {
		o.Rescan = 5 * time.Second
	}
	if o.Batch <= 0 {
		o.Batch = 64
	}
	if o.Keep == nil {
		o.Keep = func() Keep { return Keep{} }
	}
	if o.list <= 0 {
		o.list = 16384
	}
	if o.Known == nil {
		o.Known = func(string, string) bool { return false }
	}
	if o.watcher == nil {
		o.watcher = fsnotify.NewWatcher
	}
	if abs, err := filepath.Abs(o.Dir); err == nil {
		o.Dir = abs // events carry the watched path
	}
	s := &Spool{
		opts:   o,
		log:    o.Log,
		base:   &base{path: o.Dir, restore: o.Restore, most: mostOpen()},
		ready:  newLine(),
		prunes: make(chan *group, 16),

		removals: make(chan []removal, 256),
		stopped:  make(chan struct{}),
		listed:   make(chan struct{}),
	}
	s.log = cmp.Or(s.log, slog.New(slog.DiscardHandler))
	s.noise = newNoise(s.log)
	s.errors = &quarantine{base: s.base}
	s.groups.Store(&served{})
	s.add(o.Folders)
	return s
}

// Add serves further groups, whose directories exist. A group is served until
// Close, even if it is no longer configured: the caller then refuses its requests,
// and deliveries that were accepted still get their results.
func (s *Spool) Add(folders ...string) {
	for _, g := range s.add(folders) {
		s.look(g, true)
	}
}

// add returns the groups that were not served before.
func (s *Spool) add(folders []string) (added []*group) {
	s.adding.Lock()
	defer s.adding.Unlock()
	now := s.groups.Load()
	all := make(map[string]*group, len(now.byFolder)+len(folders))
	maps.Copy(all, now.byFolder)
	for _, folder := range folders {
		if all[folder] == nil {
			g := &group{folder: folder, dirs: dirs{base: s.base, folder: folder}, size: s.opts.Batch}
			all[folder], added = g, append(added, g)
		}
	}
	s.groups.Store(&served{all, slices.Concat(now.inTurn, added)})
	return added
}

// all returns the groups that are served now, by folder.
func (s *Spool) all() map[string]*group { return s.groups.Load().byFolder }

// Run serves the queue until ctx is done, which is no error, and then waits until
// every batch that was handed out is Done. When Run returns, its goroutines have
// ended and every accepted request is unlinked, if that was possible. Run is called
// once.
func (s *Spool) Run(ctx context.Context) error {
	if _, err := s.base.dir(); err != nil {
		s.end()
		return err
	}
	watching := s.watch(ctx) // before the first listing, so that no change is missed
	s.begins()
	s.lookAtAll()
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

// begin counts a new batch. It returns false if Run has ended.
func (s *Spool) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.batches.Add(1)
	}
	return !s.ended
}

// end lets no further batch begin, and waits for the batches that have begun.
func (s *Spool) end() {
	s.mu.Lock()
	s.ended = true
	close(s.stopped)
	s.mu.Unlock()
	s.batches.Wait()
}

// Close closes the directories. No method may be called afterwards.
func (s *Spool) Close() error {
	for _, g := range s.all() {
		g.dirs.close()
	}
	return s.base.close()
}

// Wake ends the wait of a group's deferred requests, because there is room now. They
// are handed out again.
func (s *Spool) Wake(folder string) {
	if g, ok := s.all()[folder]; ok {
		s.release(g)
	}
}

// begins counts the groups that are to be listed first.
func (s *Spool) begins() {
	all := s.groups.Load().inTurn
	s.unlisted.Store(int64(len(all)))
	for _, g := range all {
		g.first.Store(true)
	}
	if len(all) == 0 {
		close(s.listed)
	}
}

// Listed returns a channel that is closed once every queue that Run began with has been
// listed, and its first batch is Done. Work that nobody waits for starts after that, so that requests come first.
func (s *Spool) Listed() <-chan struct{} { return s.listed }

// rescan checks every group at intervals, because an event may be lost. A check
// reads the modification time of each directory and lists only directories that
// changed.
func (s *Spool) rescan(ctx context.Context) {
	for round := 0; ; round++ {
		pause := s.opts.Rescan
		if !s.sees() {
			pause = min(pause, time.Second)
		}
		if !wake.Sleep(ctx, pause) {
			return
		}
		s.lookRound(round)
	}
}

// sees reports whether every change should cause an event.
func (s *Spool) sees() bool { return s.watcher.Load() != nil && !s.blind.Load() }

// maxQuiet is how many quiet groups are checked in one round.
const maxQuiet = 128

// due returns the groups to be checked in a round: all of them if an event may be
// missing, otherwise those to which something happened lately, and a quarter of the
// quiet ones in turn, at most maxQuiet. So thousands of quiet groups cost next to nothing.
func (s *Spool) due(round int) (due []*group) {
	all := s.groups.Load().inTurn
	if !s.sees() {
		return all
	}
	n := min((len(all)+3)/4, maxQuiet)
	for i := range n {
		due = append(due, all[(round*n+i)%len(all)])
	}
	s.mu.Lock()
	awake := s.awake
	s.awake = nil
	s.mu.Unlock()
	for _, g := range awake {
		g.awake.Store(false)
		if !g.quiet() {
			s.rouse(g)
		}
	}
	return append(due, awake...)
}

// rouse has a group checked in every round until it is quiet again.
func (s *Spool) rouse(g *group) {
	if !g.awake.Swap(true) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.awake = append(s.awake, g)
	}
}

// lookRound checks the groups that are due.
func (s *Spool) lookRound(round int) {
	s.noise.report(time.Minute)
	for _, g := range s.due(round) {
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

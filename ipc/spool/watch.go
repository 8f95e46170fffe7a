package spool

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/ipc"
)

// watchRetry is how long the host polls before it asks for a watcher again. A
// container that runs as the host's user can use up all watchers.
const watchRetry = 30 * time.Second

// watch starts the one watcher of all groups, and a goroutine that schedules a
// listing for each event until ctx is done. Without a watcher, only the rescans find
// requests.
func (s *Spool) watch(ctx context.Context) *sync.WaitGroup {
	var wg sync.WaitGroup
	if s.opts.Poll {
		return &wg
	}
	w := s.openWatcher()
	wg.Go(func() {
		for {
			if w != nil {
				s.follow(ctx, w)
				s.watcher.Store(nil)
				w.Close()
			}
			if !wake.Sleep(ctx, watchRetry) {
				return
			}
			if w = s.openWatcher(); w != nil {
				s.lookAtAll()
			}
		}
	})
	return &wg
}

func (s *Spool) openWatcher() *fsnotify.Watcher {
	w, err := s.opts.watcher()
	if err == nil {
		if err = w.Add(s.opts.Dir); err == nil {
			s.blind.Store(false)
			s.watcher.Store(w)
			return w
		}
		w.Close()
	}
	s.log.Warn("cannot watch the queue directory; polling every second", "error", err)
	return nil
}

// follow reads events until ctx is done or the watcher is closed.
func (s *Spool) follow(ctx context.Context, w *fsnotify.Watcher) {
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.Events:
			if !ok {
				return
			}
			s.event(e)
		case err, ok := <-w.Errors:
			if !ok {
				return
			}
			// An overflow loses events. Any other error may have lost some too.
			s.noise.say(slog.LevelWarn, "the queue watcher lost events; checking every group", "", "error", err)
			s.lookAtAll()
		}
	}
}

// event schedules a group if a request was renamed into one of its directories,
// or if one of the directories appeared or vanished. All other events come from
// the container, which writes under dotted names, or from the spool's unlinking.
func (s *Spool) event(e fsnotify.Event) {
	rest, ok := strings.CutPrefix(e.Name, s.opts.Dir)
	if !ok || !e.Has(fsnotify.Create) && !e.Has(fsnotify.Remove) && !e.Has(fsnotify.Rename) {
		return
	}
	folder, rest, _ := strings.Cut(strings.TrimLeft(rest, "/"), "/")
	g, ok := s.all()[folder]
	if !ok {
		return
	}
	dir, file, inside := strings.Cut(rest, "/")
	switch {
	case dir != "" && dir != ipc.MessagesDir && dir != ipc.FilesDir:
	case !inside:
		s.look(g, true)
	case !e.Has(fsnotify.Create) || !ipc.IsRequest(file):
	case dir == ipc.FilesDir:
		s.announce(g, ipc.FilesDir+"/"+file)
	default:
		s.announce(g, file)
	}
}

// lookAtAll schedules every group for a listing: the one whose queue has changed
// last first, as it is the likeliest to hold something that waits.
func (s *Spool) lookAtAll() {
	type queue struct {
		*group
		changed time.Time
	}
	var all []queue
	for _, g := range s.all() {
		q := queue{group: g}
		if info, err := os.Lstat(filepath.Join(s.opts.Dir, g.folder, ipc.MessagesDir)); err == nil {
			q.changed = info.ModTime()
		}
		all = append(all, q)
	}
	slices.SortFunc(all, func(a, b queue) int { return b.changed.Compare(a.changed) })
	for _, q := range all {
		s.look(q.group, true)
	}
}

// watchDir watches a directory that is about to be listed, unless it is watched
// already. It also watches the group's own directory, because a watch on a
// directory that is renamed away ends without an event.
func (s *Spool) watchDir(g *group, p place, id safefs.Identity) {
	w := s.watcher.Load()
	m := &g.watched[p]
	if w == nil || m.watcher == w && m.id == id {
		return
	}
	dir := filepath.Join(s.opts.Dir, g.folder)
	_ = w.Remove(filepath.Join(dir, p.String())) // there may be no such watch
	err := w.Add(filepath.Join(dir, p.String()))
	if p == inMessages || g.watched[inMessages].watcher != w { // otherwise it was just added
		err = errors.Join(err, w.Add(dir))
	}
	if err != nil {
		if !s.blind.Swap(true) {
			s.log.Warn("cannot watch a group's queue directory; polling every second", "group", g.folder, "error", err)
		}
		return
	}
	*m = watchMark{w, id}
}

package ipc

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// watchRetry is how long the host polls before it asks again for a watcher. A
// container that shares the host's user can take all there are.
const watchRetry = 30 * time.Second

// watch starts the one watcher of all groups, and a goroutine that turns its
// events into looks until ctx is done. Without one, the rescans carry on alone.
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
			select {
			case <-ctx.Done():
				return
			case <-time.After(watchRetry):
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
	s.log.Warn("queue cannot be watched, polling", "error", err)
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
			// An overflow lost events, and whatever else it is may have.
			s.noise.say(slog.LevelWarn, "queue watcher lost events, looking at every group", "", "error", err)
			s.lookAtAll()
		}
	}
}

// event looks where something was renamed in, or where a directory came or
// went. Everything else is the container writing under dotted names, or us
// unlinking.
func (s *Spool) event(e fsnotify.Event) {
	rest, ok := strings.CutPrefix(e.Name, s.opts.Dir)
	if !ok || !e.Has(fsnotify.Create) && !e.Has(fsnotify.Remove) && !e.Has(fsnotify.Rename) {
		return
	}
	folder, rest, _ := strings.Cut(strings.TrimLeft(rest, "/"), "/")
	g, ok := s.groups[folder]
	if !ok {
		return
	}
	dir, file, inside := strings.Cut(rest, "/")
	switch {
	case dir != "" && dir != MessagesDir && dir != FilesDir:
	case !inside:
		s.look(g, true)
	case !e.Has(fsnotify.Create) || !isRequest(file):
	case dir == FilesDir:
		s.announce(g, FilesDir+"/"+file)
	default:
		s.announce(g, file)
	}
}

func (s *Spool) lookAtAll() {
	for _, g := range s.groups {
		s.look(g, true)
	}
}

// watchDir watches a directory that is about to be listed, unless it is
// watched already. The group's own directory is watched with it: a watch on a
// directory that is renamed away dies without a word.
func (s *Spool) watchDir(g *group, p place, id safefs.Identity) {
	w := s.watcher.Load()
	m := &g.watched[p]
	if w == nil || m.watcher == w && m.id == id {
		return
	}
	dir := filepath.Join(s.opts.Dir, g.folder)
	_ = w.Remove(filepath.Join(dir, p.String())) // may be gone, or never was
	err := errors.Join(w.Add(dir), w.Add(filepath.Join(dir, p.String())))
	if err != nil {
		if !s.blind.Swap(true) {
			s.log.Warn("queue directory cannot be watched, polling", "group", g.folder, "error", err)
		}
		return
	}
	*m = watchMark{w, id}
}

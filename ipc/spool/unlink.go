package spool

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
)

// removal is an accepted or refused request that has to be unlinked.
type removal struct {
	group *group
	name  string
	info  fs.FileInfo
}

// unlink unlinks requests until removals is closed. It runs in a goroutine of its
// own, because unlinking a synced file costs several times as much as reading it. A
// request that cannot be unlinked stays marked as handled, so that it is not handed
// out again while the host runs; unlink tries it again every minute.
func (s *Spool) unlink() {
	var stuck []removal
	retry := time.Tick(time.Minute)
	for {
		select {
		case batch, ok := <-s.removals:
			if !ok {
				s.unlinkAll(stuck)
				return
			}
			stuck = append(stuck, s.unlinkAll(batch)...)
		case <-retry:
			stuck = s.unlinkAll(stuck)
		}
	}
}

// unlinkAll unlinks a batch and returns the requests that could not be unlinked.
func (s *Spool) unlinkAll(batch []removal) (stuck []removal) {
	for _, r := range batch {
		g := r.group
		p, file := placeOf(r.name)
		replaced := false
		err := g.dirs.in(p, func(dir *os.Root) (err error) {
			replaced, err = remove(dir, file, r.info)
			return err
		})
		id := strings.TrimSuffix(file, ipc.Suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.noise.say(slog.LevelError, "cannot unlink a finished request; trying again every minute", g.folder, "request", ipc.Printable(id), "error", err)
			stuck = append(stuck, r)
			continue
		}
		g.mu.Lock()
		delete(g.handled, r.name)
		g.mu.Unlock()
		if replaced {
			s.look(g, false)
			continue
		}
		s.trace(g.folder, ipc.Printable(id), "unlinked")
	}
	return stuck
}

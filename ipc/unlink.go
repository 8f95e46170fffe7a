package ipc

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"
)

// removal is a request that is settled and only has to go.
type removal struct {
	group *group
	name  string
	info  fs.FileInfo
}

// unlink takes settled requests out of the queue until removals is closed. It
// is apart from the work, because unlinking a synced file costs several times
// what reading it does. What cannot be unlinked stays marked as handled, so
// that it does not come again while the host runs, and is tried once a minute.
func (s *Spool) unlink() {
	var stuck []removal
	retry := time.NewTicker(time.Minute)
	defer retry.Stop()
	for {
		select {
		case batch, ok := <-s.removals:
			if !ok {
				s.unlinkAll(stuck)
				return
			}
			stuck = append(stuck, s.unlinkAll(batch)...)
		case <-retry.C:
			stuck = s.unlinkAll(stuck)
		}
	}
}

// unlinkAll returns those that would not go.
func (s *Spool) unlinkAll(batch []removal) (stuck []removal) {
	for _, r := range batch {
		g := r.group
		p, file := placeOf(r.name)
		replaced := false
		err := g.dirs.in(p, func(dir *os.Root) (err error) {
			replaced, err = remove(dir, file, r.info)
			return err
		})
		id := strings.TrimSuffix(file, suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Error("settled request cannot be unlinked", "group", g.folder, "request", printable(id), "error", err)
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
		s.trace(g.folder, printable(id), "unlinked")
	}
	return stuck
}

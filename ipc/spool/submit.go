package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// Submit queues a request for a group, as if its container had written it. Submit checks
// nothing. After the return the request is durable. at is its modification time, in whole
// microseconds: with the same id, body and time, a second call submits the same request.
// Errors are temporary, except for an invalid id and ErrNotServed.
func (s *Spool) Submit(folder, id string, body []byte, at time.Time) error {
	g, err := s.inbound(folder, id)
	if err != nil {
		return fmt.Errorf("submit request: %w", err)
	}
	err = g.dirs.in(inMessages, func(dir *os.Root) error {
		return putFile(dir, id+ipc.Suffix, at, func(f *os.File) error {
			_, err := f.Write(body)
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("submit request: %w", err)
	}
	s.announce(g, id+ipc.Suffix)
	return nil
}

// Stage copies bytes into the group's queue directory for the request with this id, and
// returns the path of the copy below the queue directory. The copy is durable after the
// return; a copy of before is replaced. The caller removes it with Unstage; copies older
// than a day go by themselves if no request waits. Errors are as Submit's.
func (s *Spool) Stage(folder, id, name string, r io.Reader) (path string, err error) {
	g, err := s.inbound(folder, id)
	if err != nil {
		return "", fmt.Errorf("stage file: %w", err)
	}
	name = media.SafeName(name)
	err = g.dirs.in(inFiles, func(files *os.Root) error {
		if err := files.Mkdir(id, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		dir, err := safefs.OpenDir(files, id)
		if err != nil {
			return err
		}
		defer dir.Close()
		err = putFile(dir, name, time.Time{}, func(f *os.File) error {
			_, err := io.Copy(f, r)
			return err
		})
		return errors.Join(err, syncRoot(files))
	})
	if err != nil {
		return "", fmt.Errorf("stage file: %w", err)
	}
	return ipc.FilesDir + "/" + id + "/" + name, nil
}

// Unstage removes what Stage copied for a request.
func (s *Spool) Unstage(folder, id string) error {
	g, err := s.inbound(folder, id)
	if err != nil {
		return err
	}
	return g.dirs.in(inFiles, func(files *os.Root) error { return files.RemoveAll(id) })
}

// Withdraw unlinks a request from the queue. False means that the request is not in the
// queue. A host that has read the request already may still record it; the result then
// says so.
func (s *Spool) Withdraw(folder, id string) (bool, error) {
	g, err := s.inbound(folder, id)
	if err != nil {
		return false, err
	}
	err = g.dirs.in(inMessages, func(dir *os.Root) error {
		if err := dir.Remove(id + ipc.Suffix); err != nil {
			return err
		}
		return syncRoot(dir)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("withdraw request: %w", err)
	}
	return true, nil
}

// Waits reports whether a request is in the queue.
func (s *Spool) Waits(folder, id string) bool {
	g, err := s.inbound(folder, id)
	if err != nil {
		return false
	}
	return g.dirs.in(inMessages, func(dir *os.Root) error {
		_, err := dir.Lstat(id + ipc.Suffix)
		return err
	}) == nil
}

// Told returns a channel that is closed when the group's next result is written; nil if
// the group is not served.
func (s *Spool) Told(folder string) <-chan struct{} {
	g, ok := s.all()[folder]
	if !ok {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.told == nil {
		g.told = make(chan struct{})
	}
	return g.told
}

// tell closes the channel of Told.
func (g *group) tell() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.told != nil {
		close(g.told)
		g.told = nil
	}
}

// inbound returns the group of a request that does not come through the mount. It closes
// directories that the container has moved away.
func (s *Spool) inbound(folder, id string) (*group, error) {
	if !ipc.ValidID(id) {
		return nil, fmt.Errorf("%s is not a valid request id", ipc.Printable(id))
	}
	g, ok := s.all()[folder]
	if !ok {
		return nil, fmt.Errorf("group %s: %w", folder, ErrNotServed)
	}
	s.rouse(g)
	g.dirs.verify()
	return g, nil
}

// putFile writes a file under a dotted name, gives it its time, if any, and renames it. It
// is durable after the return. A link at either name is not followed.
func putFile(dir *os.Root, name string, at time.Time, write func(*os.File) error) error {
	tmp := temporary()
	f, err := dir.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Chmod(0o644) // despite the umask
	}
	if err == nil && !at.IsZero() {
		err = dir.Chtimes(tmp, at, at)
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = dir.Rename(tmp, name)
	}
	if err != nil {
		_ = dir.Remove(tmp) // best effort; pruning deletes the rest
		return err
	}
	return syncRoot(dir)
}

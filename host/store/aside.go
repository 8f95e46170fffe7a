package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// KeepSwept is how long the files stay that a sweep has moved aside. Files that
// an operator has moved aside stay until the operator deletes them.
const KeepSwept = 7 * 24 * time.Hour

const (
	asideTime   = "20060102T150405Z"
	sweptSuffix = "-swept"
)

// Moved describes files that were moved aside.
type Moved struct {
	Dir    string // where they are now; empty: there were none
	Schema string // where the tables of a database in PostgreSQL are now, for people
	Names  int
	Bytes  int64
}

// SetAside moves all files of stores that belong together into one directory,
// so that the next Open creates the stores. Marker and reference go last: after
// a crash the stores are still refused, and another SetAside completes the
// work. SetAside takes the stores' lock; the error is then ErrLocked if another
// process has it.
func SetAside(stores []Spec, now time.Time) (m Moved, err error) {
	for _, s := range stores {
		if _, err := os.Stat(s.Dir); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if lock, err := Lock(s); err != nil {
			return m, err
		} else {
			defer lock.Close()
		}
		break // they share the lock
	}
	for _, s := range stores {
		if s.OnServer() {
			if m.Schema, err = s.setServerAside(context.Background(), now); err != nil {
				return m, err
			}
		}
		for _, name := range s.belongings() {
			if err := m.take(s, s.Name, filepath.Join(s.Dir, name), now); err != nil {
				return m, err
			}
		}
	}
	for _, s := range stores {
		if err := m.take(s, s.Name, s.markerPath(), now); err != nil {
			return m, err
		}
		if s.Home.Installation == "" {
			continue
		}
		if err := os.Remove(s.referencePath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return m, fmt.Errorf("delete the reference to the %s: %w", s.Name, err)
		}
	}
	return m, nil
}

// belongings returns the names in Dir of everything that SetAside moves before
// the marker.
func (s Spec) belongings() []string {
	return s.besides("", "-wal", "-journal", "-shm", ".new", ".new-journal")
}

// take moves one file or directory, if it exists, and first creates the
// directory for it.
func (m *Moved) take(s Spec, what, path string, now time.Time) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if m.Dir == "" {
		dir, err := makeAside(s.aside(), now, what)
		if err != nil {
			return fmt.Errorf("move aside: %w", Words(err))
		}
		m.Dir = dir
	}
	size := Size(path)
	if err := move(path, filepath.Join(m.Dir, filepath.Base(path))); err != nil {
		return fmt.Errorf("move aside: %w", Words(err))
	}
	m.Names++
	m.Bytes += size
	return errors.Join(safefs.SyncDir(m.Dir), safefs.SyncDir(filepath.Dir(path)))
}

// makeAside creates a directory that does not exist yet.
func makeAside(parent string, now time.Time, what string) (string, error) {
	if err := makeDir(parent); err != nil {
		return "", err
	}
	for n := 0; ; n++ {
		name := now.UTC().Format(asideTime)
		if n > 0 {
			name += fmt.Sprintf("-%d", n)
		}
		dir := filepath.Join(parent, name+"-"+what)
		err := os.Mkdir(dir, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		return dir, errors.Join(err, safefs.SyncDir(parent))
	}
}

// Sweep moves files of a store's directory that no record names aside, for
// KeepSwept, and deletes the files whose time is over. A file that cannot be
// moved stays where it is, and so do all that are left when ctx is done.
func (s Spec) Sweep(ctx context.Context, dir string, names []string, now time.Time) (m Moved, err error) {
	err = s.expireSwept(now)
	for _, name := range names {
		if ctx.Err() != nil {
			break
		}
		err = errors.Join(err, m.take(s, s.Name+sweptSuffix, filepath.Join(dir, name), now))
	}
	return m, err
}

func (s Spec) expireSwept(now time.Time) error {
	if fi, err := os.Lstat(s.aside()); err == nil && !fi.IsDir() {
		return fmt.Errorf("delete files that were swept: %s is a link or no directory", s.aside())
	}
	entries, err := safefs.ReadDir(s.aside())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete files that were swept: %w", Words(err))
	}
	var errs []error
	for _, e := range entries {
		if at, ok := sweptAt(e.Name(), s.Name); ok && now.Sub(at) > KeepSwept {
			errs = append(errs, os.RemoveAll(filepath.Join(s.aside(), e.Name())))
		}
	}
	return errors.Join(errs...)
}

// sweptAt returns when a sweep of the store made a directory of that name.
func sweptAt(name, store string) (time.Time, bool) {
	when, ok := strings.CutSuffix(name, "-"+store+sweptSuffix)
	if !ok {
		return time.Time{}, false
	}
	when, _, _ = strings.Cut(when, "-") // without the number behind it
	at, err := time.Parse(asideTime, when)
	return at, err == nil
}

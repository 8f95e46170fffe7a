package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// KeepSwept is how long files stay that a sweep has moved aside. What an
// operator has moved aside stays until the operator deletes it.
const KeepSwept = 7 * 24 * time.Hour

const (
	asideTime   = "20060102T150405Z"
	sweptSuffix = "-swept"
)

// Moved is what was moved aside.
type Moved struct {
	Dir   string // where it lies now; empty: there was nothing
	Names int
	Bytes int64
}

// SetAside moves what is there of stores that belong together into one
// directory, and forgets that they were there: the next Open makes them. The
// marker and the reference go last, so that after a crash the stores are
// refused still, and SetAside does the rest. It takes the stores' lock.
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
		break // they share it
	}
	for _, s := range stores {
		for _, name := range s.belongings() {
			if err := m.take(s, s.Called(), filepath.Join(s.Dir, name), now); err != nil {
				return m, err
			}
		}
	}
	for _, s := range stores {
		if err := m.take(s, s.Called(), s.markerPath(), now); err != nil {
			return m, err
		}
		if s.Home.Installation == "" {
			continue
		}
		if err := os.Remove(s.referencePath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return m, fmt.Errorf("forget the %s: %w", s.Name, err)
		}
	}
	return m, nil
}

// belongings are the names in Dir of all that SetAside moves before the marker.
func (s Spec) belongings() []string {
	return append(s.besides("", "-wal", "-journal", "-shm", ".new", ".new-journal"), s.Rest...)
}

// take moves one file or directory, if it is there, and makes the directory
// for it before.
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

// makeAside makes a directory that was not there.
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

// Sweep moves files of a directory of the store that no record names aside,
// for KeepSwept, and deletes what earlier sweeps have moved longer ago. A file
// that cannot be moved stays where it is.
func (s Spec) Sweep(dir string, names []string, now time.Time) (m Moved, err error) {
	err = s.expireSwept(now)
	for _, name := range names {
		err = errors.Join(err, m.take(s, s.Name+sweptSuffix, filepath.Join(dir, name), now))
	}
	return m, err
}

func (s Spec) expireSwept(now time.Time) error {
	entries, err := os.ReadDir(s.aside())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete what was swept: %w", Words(err))
	}
	var errs []error
	for _, e := range entries {
		if at, ok := sweptAt(e.Name(), s.Name); ok && now.Sub(at) > KeepSwept {
			errs = append(errs, os.RemoveAll(filepath.Join(s.aside(), e.Name())))
		}
	}
	return errors.Join(errs...)
}

// sweptAt is when a sweep of the store made a directory of that name.
func sweptAt(name, store string) (time.Time, bool) {
	when, ok := strings.CutSuffix(name, "-"+store+sweptSuffix)
	if !ok {
		return time.Time{}, false
	}
	when, _, _ = strings.Cut(when, "-") // from a number behind it
	at, err := time.Parse(asideTime, when)
	return at, err == nil
}

package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// whole notices that a file which the running host uses was deleted or replaced. Without its lock file, a
// second host can start on the same state; what is written into a deleted database is lost.
type whole struct {
	mu    sync.Mutex
	of    *config.Config         // the configuration that paths were made for
	paths []string               // the files that must stay
	seen  map[string]fs.FileInfo // by path: the file when it was first there

	// databases are open until the host ends, by path: the end of any descriptor of a database ends the
	// process's locks on it, see https://www.sqlite.org/howtocorrupt.html.
	databases map[string]*os.File
}

// ofStores finds what was overwritten in the stores that the host has open, so that they cannot be opened again.
func (h *Host) ofStores() (all []finding.Finding) {
	if h.LostFiles() != nil {
		return nil // ofFiles or the doctor says so
	}
	for _, s := range StoresOf(h.Config(), true) {
		if s.OnServer() {
			continue
		}
		if known, ok := errors.AsType[*store.Error](s.CheckMarks()); ok && !errors.Is(known, store.ErrUnreadable) {
			all = append(all, finding.Finding{Name: finding.Damaged, Part: "state, marker of the " + known.Store, Severity: finding.Fault, Cause: known.Message, Remedy: known.Remedy})
		}
		if db := h.database(filepath.Join(s.Dir, s.File)); db != nil {
			err := s.CheckHead(db)
			if err == nil && s.Name == h.State.Spec.Name {
				err = s.Explain("read", h.State.Damage())
			}
			if known, ok := errors.AsType[*store.Error](err); ok && !errors.Is(known, store.ErrUnreadable) {
				all = append(all, finding.Finding{Name: finding.Damaged, Part: s.Name, Severity: finding.Fault, Cause: known.Message, Remedy: known.Remedy})
			}
		}
	}
	return all
}

// database returns a database that is open for a look; nil if that is not possible.
func (h *Host) database(path string) *os.File {
	h.whole.mu.Lock()
	defer h.whole.mu.Unlock()
	if h.whole.databases[path] == nil {
		if f, err := os.Open(path); err == nil {
			h.whole.databases[path] = f
		}
	}
	return h.whole.databases[path]
}

// close closes the databases, when nobody uses them any more.
func (w *whole) close() error {
	var errs []error
	for _, f := range w.databases {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// held returns the files that must stay while the host runs.
func (h *Host) held() (paths []string) {
	for _, s := range StoresOf(h.Config(), true) {
		paths = append(paths, filepath.Join(s.Dir, s.Lock), filepath.Join(s.Dir, s.File))
	}
	return append(paths, h.idFile())
}

func (h *Host) idFile() string { return filepath.Join(h.Layout.Installation(), "id") }

// LostFiles returns an error that names the files of the state that were deleted or replaced since they
// were first seen; nil if there are none. If the host may not look at one, the error is fs.ErrPermission.
// The error passes if the same files come back. The bridge asks for each batch of requests.
func (h *Host) LostFiles() error {
	switch lost, closed := h.lostFiles(); {
	case len(lost) > 0:
		return fmt.Errorf("files of the state were deleted or replaced while the host runs: %s", strings.Join(lost, ", "))
	case len(closed) > 0:
		return fmt.Errorf("the host may not look at files of the state: %s: %w", strings.Join(closed, ", "), fs.ErrPermission)
	}
	return nil
}

func (h *Host) lostFiles() (lost, closed []string) {
	h.whole.mu.Lock()
	defer h.whole.mu.Unlock()
	if c := h.Config(); h.whole.of != c {
		h.whole.of, h.whole.paths = c, h.held()
	}
	for _, path := range h.whole.paths {
		now, err := os.Stat(path)
		switch before := h.whole.seen[path]; {
		case before == nil && err == nil:
			h.whole.seen[path] = now
		case before == nil:
		case errors.Is(err, fs.ErrPermission):
			closed = append(closed, h.nameOf(path))
		case err != nil || !os.SameFile(before, now):
			lost = append(lost, h.nameOf(path))
		}
	}
	return lost, closed
}

// nameOf returns a path as it is below the state directory.
func (h *Host) nameOf(path string) string {
	name, _ := filepath.Rel(h.Layout.State, path)
	return name
}

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
)

// whole notices that a file which the running host uses was deleted or replaced. Without its lock file, a
// second host can start on the same state; what is written into a deleted database is lost.
type whole struct {
	mu    sync.Mutex
	of    *config.Config         // the configuration that paths were made for
	paths []string               // the files that must stay
	seen  map[string]fs.FileInfo // by path: the file when it was first there
}

// held returns the files that must stay while the host runs.
func (h *Host) held() (paths []string) {
	for _, s := range StoresOf(h.Config(), true) {
		paths = append(paths, filepath.Join(s.Dir, s.Lock), filepath.Join(s.Dir, s.File))
	}
	return append(paths, filepath.Join(h.Layout.Installation(), "id"))
}

// LostFiles returns an error that names the files of the state that were deleted or replaced since they
// were first seen; nil if there are none. If the host may not look at one, the error is fs.ErrPermission.
// The error passes if the same files come back. The bridge asks for each batch of requests.
func (h *Host) LostFiles() error {
	var lost, closed []string
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
	switch {
	case len(lost) > 0:
		return fmt.Errorf("files of the state were deleted or replaced while the host runs: %s", strings.Join(lost, ", "))
	case len(closed) > 0:
		return fmt.Errorf("the host may not look at files of the state: %s: %w", strings.Join(closed, ", "), fs.ErrPermission)
	}
	return nil
}

// nameOf returns a path as it is below the state directory.
func (h *Host) nameOf(path string) string {
	name, _ := filepath.Rel(h.Layout.State, path)
	return name
}

package serve

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/longshore-bridge/longshore/host/config"
)

// whole notices when a file that the running host uses is deleted or replaced. Without a lock,
// a second host can start on the same state; what goes into a deleted database is lost.
type whole struct {
	mu    sync.Mutex
	of    *config.Config         // whose files paths are
	paths []string               // that must stay: each request looks at them
	seen  map[string]fs.FileInfo // by path: as the file was when it was first there
}

// held are the files that must stay while the host runs.
func (h *Host) held() (paths []string) {
	for _, s := range StoresOf(h.Config(), true) {
		paths = append(paths, filepath.Join(s.Dir, s.Lock), filepath.Join(s.Dir, s.File))
	}
	return append(paths, filepath.Join(h.Layout.Installation(), "id"))
}

// LostFiles returns an error that names the files of the state which are no longer those
// that the host has opened; nil if all are. It passes once they are back.
func (h *Host) LostFiles() error {
	var lost []string
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
		case before != nil && (err != nil || !os.SameFile(before, now)):
			name, _ := filepath.Rel(h.Layout.State, path)
			lost = append(lost, name)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("files of the state were deleted or replaced while the host runs: %s", strings.Join(lost, ", "))
}

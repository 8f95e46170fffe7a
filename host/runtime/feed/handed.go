package feed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/longshore-bridge/longshore/ipc"
)

// closeFile asks the assistant to end. It is no follow-up.
const closeFile = "_close"

// handed are a session's follow-ups that were handed over. The zero handed has none.
//
// The file of one has ipc.HandedSuffix before the assistant can read it. So a host that loses
// the connection or is killed leaves it as one that may have been read.
type handed struct {
	mu   sync.Mutex
	of   map[string]bool // true until the assistant has read it
	over bool            // the assistant has ended
}

// has reports whether a follow-up was handed over.
func (h *handed) has(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.of[name]
	return ok
}

// begin renames a follow-up that is about to be handed over. It returns false if there is
// nobody to read it, or the host has taken it back.
func (f *Feeder) begin(name string) (bool, error) {
	f.handed.mu.Lock()
	defer f.handed.mu.Unlock()
	if f.handed.over {
		return false, nil
	}
	if f.handed.of == nil {
		f.handed.of = map[string]bool{}
	}
	f.handed.of[name] = true
	err := os.Rename(f.input(name), f.fileOf(name))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// input is the file of a follow-up that was not handed over.
func (f *Feeder) input(name string) string { return filepath.Join(f.inputs(), name) }

// fileOf is the file of a follow-up that was handed over.
func (f *Feeder) fileOf(name string) string {
	if name == closeFile {
		return f.input(name)
	}
	return f.input(name) + ipc.HandedSuffix
}

// taken notes that the assistant has read a follow-up, as an assistant that shares the
// directory does: it removes the file.
func (f *Feeder) taken(name string) error {
	f.handed.mu.Lock()
	defer f.handed.mu.Unlock()
	if !f.handed.of[name] {
		return nil
	}
	f.handed.of[name] = false
	if err := os.Remove(f.fileOf(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove a follow-up that was read: %w", err)
	}
	return nil
}

// ended notes that the assistant has ended, after it has said what it had read: the other
// follow-ups were not.
func (f *Feeder) ended() (err error) {
	f.handed.mu.Lock()
	defer f.handed.mu.Unlock()
	f.handed.over = true
	for name, unread := range f.handed.of {
		if !unread {
			continue
		}
		if back := os.Rename(f.fileOf(name), f.input(name)); back != nil && !errors.Is(back, os.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("give back a follow-up that was not read: %w", back))
		}
	}
	return err
}

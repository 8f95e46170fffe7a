package groups

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// root is a mounted directory, held open once it was asked for.
type root struct {
	mount Mount
	inner []Mount // rows below this one, which hide what it has there

	mu   sync.RWMutex
	held *heldDir // nil while nobody asked
}

// heldDir is an open directory. What happens to its name on the host does not
// change which directory it is.
type heldDir struct {
	dir   *os.Root
	info  fs.FileInfo
	place place
}

// shadowed says whether container path p lies under a row that hides what this
// root has there.
func (r *root) shadowed(p string) bool {
	for _, in := range r.inner {
		if within(in.Container, p) {
			return true
		}
	}
	return false
}

// use calls fn with the directory that bears the mount's name now. An agent
// may exchange a directory for a link or for another one; a fresh open would
// follow the link, and one held for ever would be blind to a new directory.
// So the held inode is compared with the name's, which must be a directory
// itself, before every use.
func (r *root) use(fn func(*heldDir) error) error {
	const tries = 3
	for range tries {
		r.mu.RLock()
		if r.held != nil && r.current() {
			defer r.mu.RUnlock()
			return fn(r.held)
		}
		r.mu.RUnlock()
		if err := r.reopen(); err != nil {
			return err
		}
	}
	return r.missing("is exchanged faster than it can be opened")
}

// current says whether the held directory still bears the mount's name.
func (r *root) current() bool {
	named, err := os.Lstat(r.mount.Host)
	return err == nil && os.SameFile(named, r.held.info)
}

// reopen puts the directory that bears the name now in the held one's place.
func (r *root) reopen() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held != nil && r.current() {
		return nil // somebody else was faster
	}
	if err := r.drop(); err != nil {
		return fmt.Errorf("close %s: %w", r.mount.Container, err)
	}
	named, err := os.Lstat(r.mount.Host)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r.missing("does not exist on the host")
	case err != nil:
		return r.failed(err)
	case !named.IsDir():
		return r.missing("is no directory on the host")
	}
	dir, err := os.OpenRoot(r.mount.Host)
	if err != nil {
		return r.failed(err)
	}
	held, err := newHeldDir(dir)
	if err != nil {
		_ = dir.Close()
		return r.failed(err)
	}
	r.held = held // should the open have followed a link that took the name just now, use sees it
	return nil
}

func newHeldDir(dir *os.Root) (*heldDir, error) {
	self, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = self.Close() }()
	info, err := self.Stat()
	if err != nil {
		return nil, err
	}
	facts, err := factsOf(self)
	if err != nil {
		return nil, err
	}
	return &heldDir{dir: dir, info: info, place: facts.place}, nil
}

func (r *root) refresh() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held != nil && !r.current() {
		_ = r.drop()
	}
}

func (r *root) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.drop()
}

// drop closes the held directory; the caller has the lock.
func (r *root) drop() error {
	if r.held == nil {
		return nil
	}
	err := r.held.dir.Close()
	r.held = nil
	return err
}

func (r *root) missing(how string) *Error {
	return &Error{
		Code:    CodeMountMissing,
		Message: r.mount.Container + " " + how,
		Hint:    "the operator must put the directory back; meanwhile send from another directory, such as /workspace/group",
	}
}

// failed wraps what the system said about the mounted directory, without its
// path on the host.
func (r *root) failed(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return r.missing("may not be read by the host")
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // it went while it was opened
		return r.missing("does not exist on the host")
	}
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return fmt.Errorf("open the directory of %s: %w", r.mount.Container, err)
}

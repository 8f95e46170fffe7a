package mounts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/longshore-bridge/longshore/internal/refusal"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// root is a mounted directory, held open once it was asked for.
type root struct {
	mount Mount
	inner []*hidden // what it has where rows below this one lie
	fixed bool      // the operator's own directory: one that takes its place is not opened

	mu    sync.RWMutex
	first fs.FileInfo // of a fixed one: the directory when it was first seen
	held  *heldDir    // nil while nobody asked
}

// heldDir is an open directory. What happens to its name on the host does not
// change which directory it is.
type heldDir struct {
	dir   *os.Root
	info  fs.FileInfo
	place place
}

// shadowed says whether container path p lies under a row that hides what this
// root has there, also by another spelling of its name.
func (r *root) shadowed(p string) bool {
	if len(r.inner) == 0 {
		return false
	}
	p = fold(p)
	return slices.ContainsFunc(r.inner, func(x *hidden) bool { return within(x.folded, p) })
}

// hiddenFiles are all that the container does not see of this root.
func (r *root) hiddenFiles() (all []safefs.Identity) {
	for _, x := range r.inner {
		all = append(all, x.files()...)
	}
	return all
}

// shadowed is the refusal of what the container does not see.
func shadowed(more string) *refusal.Error {
	return &refusal.Error{
		Code:    CodePathShadowed,
		Message: "the container does not see what the host has there",
		Hint:    "secrets and the host's own files cannot be sent, by no other spelling either" + more,
	}
}

// use calls fn with the directory that bears the mount's name now. An agent
// may exchange a directory for a link or for another one; a fresh open would
// follow the link, and one held for ever would be blind to a new directory.
// So the held inode is compared with the name's before every use, and no link
// is followed on the way to that name.
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
	named, err := safefs.RealDir(r.mount.Host)
	return err == nil && os.SameFile(named, r.held.info)
}

// remember takes note of a fixed directory that is seen for the first time.
func (r *root) remember() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if named, err := safefs.RealDir(r.mount.Host); err == nil && r.first == nil {
		r.first = named
	}
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
	named, err := safefs.RealDir(r.mount.Host)
	if err != nil {
		return r.failed(err)
	}
	if r.fixed && r.first == nil {
		r.first = named
	}
	if r.fixed && !os.SameFile(r.first, named) {
		return r.missing("is another directory than when the host started")
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
	if !os.SameFile(held.info, named) { // exchanged just now; use tries again
		return dir.Close()
	}
	r.held = held
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
	r.hiddenFiles()
}

func (r *root) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.inner {
		x.close()
	}
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

func (r *root) missing(how string) *refusal.Error {
	hint := "the operator must put the directory back"
	if r.fixed {
		hint += ", or restart the host if another one is meant to be there"
	}
	return &refusal.Error{
		Code:    CodeMountMissing,
		Message: r.mount.Container + " " + how,
		Hint:    hint + "; meanwhile send from another directory, such as /workspace/group",
	}
}

// failed wraps what the system said about the mounted directory, without its
// path on the host.
func (r *root) failed(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return r.missing("may not be read by the host")
	case errors.Is(err, fs.ErrNotExist):
		return r.missing("does not exist on the host")
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return r.missing("is no directory on the host, or a link leads there that did not when the host started")
	}
	return fmt.Errorf("open the directory of %s: %w", r.mount.Container, safefs.Reason(err))
}

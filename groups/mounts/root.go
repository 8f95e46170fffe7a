package mounts

import (
	"cmp"
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

// root is a mounted directory. It stays open after its first use.
type root struct {
	mount Mount
	inner []*hidden // the parts that rows below this one cover
	fixed bool      // an operator's directory: another one in its place is not opened

	mu     sync.RWMutex
	first  safefs.Lasting // of a fixed root: the directory as first seen; zero before
	handle *dirHandle     // nil before the first use
}

// dirHandle is an open directory. A rename of its path does not change which
// directory it is.
type dirHandle struct {
	dir   *os.Root
	base  string // its path when it was opened
	id    safefs.Identity
	mount mountID
}

// shadowed reports whether container path p is under a row that hides a part of
// this root, even in another spelling.
func (r *root) shadowed(p string) bool {
	if len(r.inner) == 0 {
		return false
	}
	p = fold(p)
	return slices.ContainsFunc(r.inner, func(x *hidden) bool { return within(x.folded, p) })
}

// hiddenFiles returns every file of this root that the container cannot see.
func (r *root) hiddenFiles() (all []safefs.Identity) {
	for _, x := range r.inner {
		all = append(all, x.files()...)
	}
	return all
}

// shadowed returns the refusal of a hidden path.
func shadowed(more string) *refusal.Error {
	return &refusal.Error{
		Code:    CodePathShadowed,
		Message: "the container cannot see what the host has there",
		Hint:    "secrets and the host's own files cannot be sent, not even under another spelling" + more,
	}
}

// use calls fn with the directory that has the mount's path now. An agent may
// exchange a directory for a link or for another directory. A fresh open would
// follow the link, and a directory that stays open for ever would miss a new
// one. So use compares the open directory with its path before each use, and
// follows no link on the way to that path.
func (r *root) use(fn func(*dirHandle) error) error {
	const tries = 3
	for range tries {
		r.mu.RLock()
		if r.handle != nil && r.current() {
			defer r.mu.RUnlock()
			return fn(r.handle)
		}
		r.mu.RUnlock()
		if err := r.reopen(); err != nil {
			return err
		}
	}
	return r.missing("is exchanged faster than the host can open it")
}

// current reports whether the open directory still has the mount's path.
func (r *root) current() bool {
	named, err := safefs.RealDir(r.mount.Host)
	return err == nil && named.Identity == r.handle.id
}

// gone returns why a fixed directory cannot be read where it was first seen.
func (r *root) gone() error {
	named, err := safefs.RealDir(r.mount.Host)
	r.mu.RLock()
	defer r.mu.RUnlock()
	if err == nil && r.first != (safefs.Lasting{}) && r.first != named {
		err = fs.ErrNotExist
	}
	return cmp.Or(err, safefs.Readable(r.mount.Host, true))
}

// remember records the identity of a fixed directory the first time it is seen.
func (r *root) remember() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if named, err := safefs.RealDir(r.mount.Host); err == nil && r.first == (safefs.Lasting{}) {
		r.first = named
	}
}

// reopen replaces the open directory by the one that has the path now.
func (r *root) reopen() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.handle != nil && r.current() {
		return nil // another goroutine was faster
	}
	if err := r.shut(); err != nil {
		return fmt.Errorf("close %s: %w", r.mount.Container, err)
	}
	named, err := safefs.RealDir(r.mount.Host)
	if err != nil {
		return r.failed(err)
	}
	if r.fixed && r.first == (safefs.Lasting{}) {
		r.first = named
	}
	if r.fixed && r.first != named {
		return r.missing("is another directory than when the host started")
	}
	dir, err := safefs.OpenRoot(r.mount.Host)
	if err != nil {
		return r.failed(err)
	}
	handle, err := newDirHandle(dir)
	if err != nil {
		_ = dir.Close()
		return r.failed(err)
	}
	if handle.id != named.Identity { // exchanged just now; use tries again
		return dir.Close()
	}
	r.handle = handle
	return nil
}

func newDirHandle(dir *os.Root) (*dirHandle, error) {
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
	id, _ := safefs.Identify(info)
	base, _ := pathOf(self) // unknown to other systems than Linux
	return &dirHandle{dir: dir, base: base, id: id, mount: facts.mount}, nil
}

func (r *root) refresh() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.handle != nil && !r.current() {
		_ = r.shut()
	}
	r.hiddenFiles()
}

func (r *root) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.inner {
		x.close()
	}
	return r.shut()
}

// shut closes the open directory. The caller holds r.mu.
func (r *root) shut() error {
	if r.handle == nil {
		return nil
	}
	err := r.handle.dir.Close()
	r.handle = nil
	return err
}

func (r *root) missing(how string) *refusal.Error {
	hint := "the operator must put the directory back"
	if r.fixed {
		hint += ", or restart the host if another one is meant to be there"
	}
	return r.unusable(how, hint)
}

func (r *root) unusable(how, hint string) *refusal.Error {
	if own := "/workspace/group"; r.mount.Container != own {
		hint += "; meanwhile send from another directory, such as " + own
	}
	return &refusal.Error{Code: CodeMountMissing, Message: r.mount.Container + " " + how, Hint: hint}
}

// failed converts a system error about the mounted directory and removes the
// directory's host path.
func (r *root) failed(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return r.unusable("is not readable for the host", "the operator must give the host the right to read the directory")
	case errors.Is(err, fs.ErrNotExist):
		return r.missing("does not exist on the host")
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return r.missing("is not a directory on the host, or is reached by a link that was not there when the host started")
	}
	return fmt.Errorf("open the directory of %s: %w", r.mount.Container, safefs.Reason(err))
}

package blob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/internal/wake"
)

const (
	// patience is how long a call to a shared directory may make no progress. A network file
	// system that hangs ends no system call, so the call is left to itself.
	patience  = 30 * time.Second
	syncEvery = 32 << 20 // bytes: a sync shows no progress
	// mostHanging is how many calls may be left to themselves, each with a thread.
	mostHanging = 16
)

// Directory is a Place in a directory that all hosts have mounted. Each call opens it anew and
// looks for the marker, so that nothing is written below the mount point of a file system that was
// unmounted.
type Directory struct {
	path string
	gate chan struct{} // in it while a call is under way
}

// NewDirectory returns a Place. It touches nothing.
func NewDirectory(path string) *Directory {
	return &Directory{path, make(chan struct{}, mostHanging)}
}

// String implements Place.
func (d *Directory) String() string { return d.path }

// Put implements Place. Each try has an unfinished file of its own: an earlier one may hang still, and
// go on at any time.
func (d *Directory) Put(ctx context.Context, name string, from *os.File, size int64) error {
	return d.do(ctx, name, func(root *os.Root, moved chan struct{}) (err error) {
		part := name + "." + newName()[:16] + partSuffix
		dst, err := root.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer func() {
			if err != nil {
				_ = root.Remove(part) // else a sweep finds it
			}
		}()
		for at := int64(0); at < size && err == nil; at += syncEvery {
			_, err = io.Copy(progress{dst, moved}, io.NewSectionReader(from, at, min(syncEvery, size-at)))
			err = errors.Join(err, dst.Sync())
			wake.Up(moved)
		}
		if err = errors.Join(err, dst.Close()); err != nil {
			return err
		}
		return named(root, root.Rename(part, name))
	})
}

// Copy implements Place by a second name of the same file.
func (d *Directory) Copy(ctx context.Context, from, name string) error {
	return d.do(ctx, name, func(root *os.Root, _ chan struct{}) error { return named(root, absent(root.Link(from, name))) })
}

// errAbsent means that the directory lacks a name which a call asks for.
var errAbsent = errors.New("it has no such file")

func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errAbsent
	}
	return err
}

// named makes a new name durable.
func named(root *os.Root, err error) error {
	if err != nil {
		return err
	}
	at, err := root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(at.Sync(), at.Close())
}

// Get implements Place.
func (d *Directory) Get(ctx context.Context, name string, to io.Writer) error {
	return d.do(ctx, name, func(root *os.Root, moved chan struct{}) error {
		src, err := root.Open(name)
		if err != nil {
			return absent(err)
		}
		defer src.Close()
		_, err = io.Copy(progress{to, moved}, struct{ io.Reader }{src})
		return err
	})
}

// Remove implements Place.
func (d *Directory) Remove(ctx context.Context, names ...string) error {
	return d.do(ctx, "", func(root *os.Root, moved chan struct{}) error {
		var errs []error
		for _, name := range names {
			if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
			wake.Up(moved)
		}
		return errors.Join(errs...)
	})
}

// List implements Place.
func (d *Directory) List(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var names []string
		err := d.do(ctx, "", func(root *os.Root, moved chan struct{}) error {
			at, err := root.Open(".")
			if err != nil {
				return err
			}
			defer at.Close()
			var all []string
			for err == nil {
				var some []string
				some, err = at.Readdirnames(1024)
				all = append(all, some...)
				wake.Up(moved)
			}
			if !errors.Is(err, io.EOF) {
				return err
			}
			names = all
			return nil
		})
		if err != nil {
			yield("", err)
			return
		}
		for _, name := range names {
			if !yield(name, nil) {
				return
			}
		}
	}
}

// Space implements Place.
func (d *Directory) Space(ctx context.Context) (free, total int64, err error) {
	var st unix.Statfs_t
	err = d.do(ctx, "", func(root *os.Root, _ chan struct{}) error {
		at, err := root.Open(".")
		if err != nil {
			return err
		}
		defer at.Close()
		return unix.Fstatfs(int(at.Fd()), &st)
	})
	return int64(st.Bavail) * int64(st.Bsize), int64(st.Blocks) * int64(st.Bsize), err
}

// do runs a call in a goroutine of its own, and leaves it alone if it makes no progress or ctx is
// done. call reports progress by moved.
func (d *Directory) do(ctx context.Context, name string, call func(root *os.Root, moved chan struct{}) error) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	late := fmt.Errorf("%w after %s", os.ErrDeadlineExceeded, patience)
	select {
	case d.gate <- struct{}{}:
	case <-timer.C:
		return d.trouble(late)
	case <-ctx.Done():
		return d.trouble(ctx.Err())
	}
	done, moved := make(chan error, 1), make(chan struct{}, 1)
	go func() {
		err := d.within(name, moved, call)
		<-d.gate
		done <- err
	}()
	for {
		select {
		case err := <-done:
			return d.trouble(err)
		case <-moved:
			timer.Reset(patience)
		case <-timer.C:
			return d.trouble(late)
		case <-ctx.Done():
			return d.trouble(ctx.Err())
		}
	}
}

// errNotMounted means that the directory lacks the marker.
var errNotMounted = errors.New("it has no file " + Marker)

func (d *Directory) within(name string, moved chan struct{}, call func(root *os.Root, moved chan struct{}) error) error {
	root, err := safefs.OpenRoot(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return errNotMounted
	}
	if err != nil {
		return err
	}
	defer root.Close()
	if name != Marker {
		if _, err := root.Lstat(Marker); errors.Is(err, fs.ErrNotExist) {
			return errNotMounted
		} else if err != nil {
			return err
		}
	}
	return call(root, moved)
}

// trouble returns err in the operator's words. errAbsent is fs.ErrNotExist, and nothing else is.
func (d *Directory) trouble(err error) error {
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, errAbsent):
		return fs.ErrNotExist
	case errors.Is(err, fs.ErrNotExist):
		err = errors.New(err.Error())
	}
	t := &Trouble{Cause: fmt.Sprintf("the directory %s of state.files reports: %v", d.path, err), Remedy: cmp.Or(finding.Remedy(err, d.path), "check the file system's server and this machine's mount"), Err: err}
	switch {
	case errors.Is(err, errNotMounted):
		t.Cause = fmt.Sprintf("the directory %s of state.files is not mounted, or is another one than before: %v", d.path, err)
		t.Remedy = "mount it there; if state.files names the wrong directory, correct that and restart the host"
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		t.Cause, t.Remedy = fmt.Sprintf("the directory %s of state.files is full", d.path), "make room on its disk, or raise its quota"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		t.Cause = fmt.Sprintf("the directory %s of state.files does not answer: %v", d.path, err)
	}
	return t
}

// progress is a writer that notes each write.
type progress struct {
	to    io.Writer
	moved chan struct{}
}

func (p progress) Write(b []byte) (int, error) {
	n, err := p.to.Write(b)
	wake.Up(p.moved)
	return n, err
}

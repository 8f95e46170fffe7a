package backup

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

const (
	deepest   = 100      // directories in one another; a deeper one is left out
	longest   = 2 << 10  // bytes of a path; a longer one is left out: a restore has to make it below another directory
	mostOpen  = 500      // descriptors that stay open over the thaw
	mostHoles = 64 << 30 // bytes of holes that are hashed of each group, and of all else; a file with more than is left is left out
	unsynced  = ".part"  // the suffix of a blob that is not whole yet
)

// copier copies the state directory in several passes. A pass copies what is new or
// changed, and removes from the copy what is gone.
type copier struct {
	ctx      context.Context
	from, to string
	tops     []string        // what is copied, relative to from
	cold     map[string]bool // directories that only the first pass reads
	groups   map[string]bool // directories of groups' directories
	skip     map[string]bool // paths that are left out
	blobs    map[string]bool // directories whose files never change

	all   map[string]*copied
	holes map[string]*int64 // bytes of holes in files that may still be hashed, by group

	n        int  // the pass
	keepOpen bool // copy nothing: keep the files open
	opened   []openFile
	unread   []string
	sparse   []string // left out for their holes
}

type copied struct {
	Entry
	was  stamp
	pass int // the last one that has found it
}

// stamp shows whether a file has changed. An assistant can forge one, for its own files.
type stamp struct {
	id         safefs.Identity
	size, time int64
}

type openFile struct {
	e *copied
	f *os.File
}

func newCopier(ctx context.Context, o Options, to string) *copier {
	c := &copier{
		ctx: ctx, from: o.Layout.State, to: to, all: map[string]*copied{}, holes: map[string]*int64{},
		cold: map[string]bool{}, skip: map[string]bool{}, blobs: map[string]bool{},
	}
	for _, path := range o.Layout.Private() {
		c.tops = append(c.tops, c.rel(path))
	}
	l := o.Layout
	for _, path := range []string{l.Groups(), l.Homes(), l.Sessions(), l.Logs(), filepath.Dir(filepath.Dir(l.Place("x", 1)))} {
		c.cold[c.rel(path)] = true
	}
	c.groups = maps.Clone(c.cold)
	c.groups[c.rel(l.IPCDir())] = true
	for _, path := range []string{l.Aside(), l.Backups(), filepath.Dir(l.Temp("x")), filepath.Join(l.Own(), state.CopiesDir)} {
		c.skip[c.rel(path)] = true
	}
	for _, s := range o.Stores {
		for _, suffix := range []string{"", "-wal", "-shm", "-journal", ".new", ".new-journal"} {
			c.skip[c.rel(filepath.Join(s.Dir, s.File+suffix))] = true
		}
		if s.Files != "" {
			c.blobs[c.rel(filepath.Join(s.Dir, s.Files))] = true
		}
	}
	return c
}

func (c *copier) rel(path string) string {
	rel, _ := safefs.Below(c.from, path)
	return rel
}

// pass copies what is new since the pass before; with hot, without the cold directories.
func (c *copier) pass(hot bool) error {
	c.n++
	for _, top := range c.tops {
		if hot && c.cold[top] {
			continue
		}
		root, err := safefs.OpenRoot(filepath.Join(c.from, top))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		info, err := root.Stat(".")
		if err == nil {
			err = errors.Join(c.directory(top, info), c.walk(root, top, hot, 0))
		}
		if err = errors.Join(err, root.Close()); err != nil {
			return err
		}
	}
	return c.forget(hot)
}

// forget removes from the copy what the pass has not found.
func (c *copier) forget(hot bool) error {
	for path, e := range c.all {
		if e.pass == c.n || hot && c.isCold(path) {
			continue
		}
		if err := os.RemoveAll(c.target(path)); err != nil && !errors.Is(err, syscall.ENOTDIR) { // a file where its directory was
			return err
		}
		delete(c.all, path)
	}
	return nil
}

func (c *copier) isCold(path string) bool {
	for ; path != "."; path = filepath.Dir(path) {
		if c.cold[path] {
			return true
		}
	}
	return false
}

func (c *copier) target(rel string) string { return filepath.Join(c.to, filepath.FromSlash(rel)) }

func (c *copier) walk(dir *os.Root, rel string, hot bool, depth int) error {
	names, err := c.names(dir, rel, depth)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.ToSlash(filepath.Join(rel, name))
		if c.skip[path] || hot && c.cold[path] || c.blobs[rel] && strings.HasSuffix(name, unsynced) {
			continue
		}
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if len(path) > longest {
			c.unread = append(c.unread, path)
			continue
		}
		err := c.visit(dir, name, path, hot, depth)
		if leftOut(err) { // an assistant can make such files, and must not stop a backup with them
			c.leaveOut(path, err)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// leaveOut takes a path out of the backup, also what an earlier pass has copied.
func (c *copier) leaveOut(path string, why error) {
	if errors.Is(why, errHoles) {
		c.sparse = append(c.sparse, path)
	} else {
		c.unread = append(c.unread, path)
	}
	_ = os.RemoveAll(c.target(path))
	delete(c.all, path)
}

// leftOut says whether err is of a name that cannot be read, or that the disk of the backup
// does not take.
func leftOut(err error) bool {
	return slices.ContainsFunc([]error{errHoles, fs.ErrPermission, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.EILSEQ},
		func(why error) bool { return errors.Is(err, why) })
}

func (c *copier) names(dir *os.Root, rel string, depth int) ([]string, error) {
	if depth > deepest {
		c.unread = append(c.unread, rel)
		return nil, nil
	}
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	return names, errors.Join(err, f.Close())
}

// visit copies one name. Whoever may write in dir can exchange it at any time.
func (c *copier) visit(dir *os.Root, name, path string, hot bool, depth int) error {
	info, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	switch info.Mode().Type() {
	case fs.ModeDir:
		sub, err := safefs.OpenDir(dir, name)
		if err != nil {
			return err
		}
		defer sub.Close()
		if err := c.directory(path, info); err != nil {
			return err
		}
		return c.walk(sub, path, hot, depth+1)
	case fs.ModeSymlink:
		to, err := dir.Readlink(name)
		if err == nil {
			c.add(path, info).Target = to
		}
		return err
	case 0:
		return c.plain(dir, name, path, info)
	}
	return nil // pipes, sockets and devices hold nothing
}

// add returns the entry of a path, which has been found in this pass.
func (c *copier) add(path string, info fs.FileInfo) *copied {
	e := c.all[path]
	if e == nil {
		e = &copied{}
		c.all[path] = e
	}
	at := stateDir + "/" + path
	if path == "." {
		at = stateDir
	}
	e.Entry, e.pass = entryOf(at, info), c.n
	return e
}

func (c *copier) directory(path string, info fs.FileInfo) error {
	c.add(path, info).Dir = true
	if was, err := os.Lstat(c.target(path)); err == nil && !was.IsDir() {
		if err := os.Remove(c.target(path)); err != nil {
			return err
		}
	}
	return os.MkdirAll(c.target(path), 0o700)
}

// plain copies a file, unless a pass before has done so.
func (c *copier) plain(dir *os.Root, name, path string, before fs.FileInfo) error {
	was := stamp{size: before.Size(), time: before.ModTime().UnixNano()}
	was.id, _ = safefs.Identify(before)
	if e := c.all[path]; e != nil && e.was == was {
		e.pass = c.n
		return nil
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	after, err := f.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = fs.ErrNotExist // exchanged; a file of the host's comes again in the next pass
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	e := c.add(path, after)
	e.was, e.Size = was, after.Size()
	if c.keepOpen && len(c.opened) < mostOpen {
		c.opened = append(c.opened, openFile{e, f})
		return nil
	}
	return errors.Join(c.copy(path, e, f), f.Close())
}

// copyOpened copies what was opened while the stores were frozen.
func (c *copier) copyOpened() error {
	for _, h := range c.opened {
		path := strings.TrimPrefix(h.e.Path, stateDir+"/")
		if err := c.copy(path, h.e, h.f); leftOut(err) {
			c.leaveOut(path, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// release closes what was opened while the stores were frozen.
func (c *copier) release() error {
	var errs []error
	for _, h := range c.opened {
		errs = append(errs, h.f.Close())
	}
	return errors.Join(errs...)
}

func (c *copier) copy(path string, e *copied, f *os.File) (err error) {
	to := c.target(path)
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if c.blobs[filepath.Dir(path)] && linked(filepath.Join(c.from, path), to, f) {
		e.SHA256, e.Size, err = sum(c.ctx, f)
		return err
	}
	e.SHA256, e.Size, err = copyTo(c.ctx, to, f, e.Size, c.share(path))
	return err
}

// share returns the bytes of holes that may still be hashed of the path's group. So no group
// takes another one's files out of the backup.
func (c *copier) share(path string) *int64 {
	group := ""
	for dir := path; dir != "."; dir = filepath.Dir(dir) {
		if c.groups[filepath.Dir(dir)] {
			group = filepath.Base(dir)
		}
	}
	if c.holes[group] == nil {
		c.holes[group] = new(int64)
		*c.holes[group] = mostHoles
	}
	return c.holes[group]
}

// linked gives a file that never changes a second name.
func linked(from, to string, f *os.File) bool {
	if os.Link(from, to) != nil {
		return false
	}
	a, err := f.Stat()
	if b, err2 := os.Lstat(to); err == nil && err2 == nil && os.SameFile(a, b) {
		return true
	}
	_ = os.Remove(to) // if it cannot be removed, the copy will fail on it
	return false
}

// maxExtra is the size of the largest file outside the state directory, in bytes.
const maxExtra = 1 << 20

func (c *copier) sum() (files int, bytes int64) {
	for _, e := range c.all {
		if e.file() {
			files, bytes = files+1, bytes+e.Size
		}
	}
	return files, bytes
}

func (c *copier) sorted() (all []Entry) {
	for _, e := range c.all {
		all = append(all, e.Entry)
	}
	slices.SortFunc(all, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

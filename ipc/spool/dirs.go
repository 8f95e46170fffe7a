package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/ipc"
)

// place identifies one of a group's directories that the spool works in.
type place int

const (
	inMessages place = iota
	inFiles
	inResults
	inContext
	places
)

func (p place) String() string {
	return [...]string{ipc.MessagesDir, ipc.FilesDir, ipc.ResultsDir, ipc.ContextDir}[p]
}

// maxOpen is how many groups' directories stay open between two uses, with up to five
// descriptors each. Those of further groups are closed after each use.
const maxOpen = 256

// base is the queue directory itself. It is opened on first use.
type base struct {
	path    string
	restore func(folder string) error // as in Options
	mu      sync.Mutex
	root    *os.Root
	open    atomic.Int64 // groups with an open directory
}

func (b *base) dir() (*os.Root, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.root != nil {
		return b.root, nil
	}
	root, err := safefs.OpenRoot(b.path)
	if err != nil {
		return nil, fmt.Errorf("open queue: %w", err)
	}
	b.root = root
	return root, nil
}

func (b *base) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.root == nil {
		return nil
	}
	err := b.root.Close()
	b.root = nil
	return err
}

// dirs are the directories of one group. They stay open while in use.
//
// An open directory cannot be exchanged under us: names are resolved below it, and
// links do not lead out of it. But the container may move the directory away and put
// something else in its place, such as a link to another group's directory. So
// verify compares each open directory with its name from time to time, and each
// opening requires a real directory.
type dirs struct {
	base   *base
	folder string
	mu     sync.RWMutex // held for reading while a directory is used
	group  *os.Root
	leaf   [places]*os.Root
	used   atomic.Bool
}

// in calls fn with the directory p. The directory stays open until fn returns.
func (d *dirs) in(p place, fn func(*os.Root) error) error {
	d.used.Store(true)
	defer func() {
		if d.base.open.Load() > maxOpen {
			d.close()
		}
	}()
	for {
		done, err := d.try(p, fn)
		if done {
			return err
		}
		if err := d.open(p); err != nil {
			return fmt.Errorf("open %s: %w", p, err)
		}
	}
}

func (d *dirs) try(p place, fn func(*os.Root) error) (bool, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.leaf[p] == nil {
		return false, nil
	}
	return true, fn(d.leaf[p])
}

func (d *dirs) open(p place) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.openLeaf(p)
	if p >= inResults && d.base.restore != nil && errors.Is(err, fs.ErrNotExist) { // only the host writes to results and context
		d.closeAll() // the open directories may be the removed ones
		if err = d.base.restore(d.folder); err == nil {
			err = d.openLeaf(p)
		}
	}
	return err
}

// openLeaf is called with d.mu held.
func (d *dirs) openLeaf(p place) error {
	root, err := d.base.dir()
	if err != nil {
		return err
	}
	if d.group == nil {
		if d.group, err = safefs.OpenDir(root, d.folder); err != nil {
			return err
		}
		d.base.open.Add(1)
	}
	if d.leaf[p] == nil {
		d.leaf[p], err = safefs.OpenDir(d.group, p.String())
	}
	return err
}

// verify closes every open directory that its name no longer leads to.
func (d *dirs) verify() {
	d.mu.Lock()
	defer d.mu.Unlock()
	root, err := d.base.dir()
	if d.group == nil {
		return
	}
	if err != nil || !same(root, d.folder, d.group) {
		d.closeAll()
		return
	}
	for p, leaf := range d.leaf {
		if leaf != nil && !same(d.group, place(p).String(), leaf) {
			leaf.Close()
			d.leaf[p] = nil
		}
	}
}

func same(parent *os.Root, name string, held *os.Root) bool {
	now, err := parent.Lstat(name)
	if err != nil || !now.IsDir() {
		return false
	}
	then, err := held.Stat(".")
	return err == nil && os.SameFile(now, then)
}

// trim closes the directories if nobody has used them since the last call, so that
// an idle group uses no file descriptors.
func (d *dirs) trim() {
	if !d.used.Swap(false) {
		d.close()
	}
}

func (d *dirs) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closeAll()
}

func (d *dirs) closeAll() {
	for p, leaf := range d.leaf {
		if leaf != nil {
			leaf.Close()
			d.leaf[p] = nil
		}
	}
	if d.group != nil {
		d.group.Close()
		d.group = nil
		d.base.open.Add(-1)
	}
}

package blob

import (
	"container/list"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// mostCopies is how many bytes of published blobs a host keeps on its own disk.
const mostCopies = 1 << 30

// copies are the blobs of a shared store that lie on this host's disk: those that it has made, and
// those that it has fetched and checked lately. They are deleted at a start.
type copies struct {
	most int64 // bytes of published blobs

	mu    sync.Mutex
	all   map[string]*list.Element // of *localCopy
	byUse *list.List               // the latest first
	bytes int64                    // of those that are published
	busy  map[string]chan struct{} // the names that are fetched; closed at the end
}

type localCopy struct {
	name      string
	path      string
	size      int64
	from      string // another blob with the same bytes; empty: none
	published bool
}

// openCopies deletes what an earlier process has left in dir.
func openCopies(dir string) (*copies, error) {
	entries, err := safefs.ReadDir(dir)
	for _, e := range entries {
		if IsName(strings.TrimSuffix(e.Name(), partSuffix)) && e.Type().IsRegular() {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return &copies{most: mostCopies, all: map[string]*list.Element{}, byUse: list.New(), busy: map[string]chan struct{}{}}, err
}

// add notes a blob whose bytes are in a file, and makes room for it.
func (c *copies) add(one localCopy) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[one.name] = c.byUse.PushFront(&one)
	if one.published {
		c.bytes += one.size
		c.evict()
	}
}

// publish notes that others can find a blob from now on.
func (c *copies) publish(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.all[name]; ok && !at.Value.(*localCopy).published {
		one := at.Value.(*localCopy)
		one.published = true
		c.bytes += one.size
		c.evict()
	}
}

// evict deletes the published copies that were not used for longest, but not the one that was used
// last: it may be larger than all may be. A file that is open can still be read.
func (c *copies) evict() {
	for at := c.byUse.Back(); at != c.byUse.Front() && c.bytes > c.most; {
		before := at.Prev()
		if at.Value.(*localCopy).published {
			c.delete(at)
		}
		at = before
	}
}

func (c *copies) delete(at *list.Element) {
	one := c.byUse.Remove(at).(*localCopy)
	delete(c.all, one.name)
	if one.published {
		c.bytes -= one.size
	}
	_ = os.Remove(one.path) // else the next start does
}

// drop deletes a copy. It reports whether others can find the blob.
func (c *copies) drop(name string) (published bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.all[name]
	if ok {
		published = at.Value.(*localCopy).published
		c.delete(at)
	}
	return published
}

// get returns what is known of a copy.
func (c *copies) get(name string) (one localCopy, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.all[name]
	if ok {
		c.byUse.MoveToFront(at)
		one = *at.Value.(*localCopy)
	}
	return one, ok
}

// open opens a copy. The error is fs.ErrNotExist if there is none.
func (c *copies) open(name string) (*File, error) {
	one, ok := c.get(name)
	if !ok {
		return nil, fs.ErrNotExist
	}
	f, err := os.Open(one.path)
	if err != nil {
		return nil, err
	}
	return &File{f}, nil
}

// enter waits until nobody else fetches the name. The caller calls leave in the end.
func (c *copies) enter(ctx context.Context, name string) (leave func(), err error) {
	for {
		c.mu.Lock()
		busy := c.busy[name]
		if busy == nil {
			busy = make(chan struct{})
			c.busy[name] = busy
			c.mu.Unlock()
			return func() {
				c.mu.Lock()
				delete(c.busy, name)
				c.mu.Unlock()
				close(busy)
			}, nil
		}
		c.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

package inbound

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"syscall"
	"time"

	"github.com/longshore-bridge/longshore/media"
)

const (
	maxInboxNames = 10_000  // entries of an inbox, above which no file is added
	reserveStep   = 1 << 20 // for how many bytes at a time room is asked for
)

// put copies a member's file into the group's inbox if there is room. It never deletes a
// file to make room: the file may be the assistant's.
func (b *Inbox) put(name string, from io.Reader) (stored string, size int64, err error) {
	b.storing.Lock()
	defer b.storing.Unlock()
	workspace := b.workspace()
	used, names, err := inboxUse(workspace)
	if err != nil {
		return "", 0, err
	}
	if names >= maxInboxNames {
		return "", 0, missing(fmt.Sprintf("the inbox holds %d files, and more are not added; remove some and ask the member to send it again", names))
	}
	limit, full := b.f.MaxFile, missing("")
	if most := b.of.Limit(); most > 0 && most-used < limit {
		limit = max(most-used, 0)
		full = missing(fmt.Sprintf("the inbox may hold %s and has %s; remove files from it and ask the member to send this one again", media.Size(most), media.Size(used)))
	}
	stored, size, err = keepFile(workspace, name, limit, b.f.metered(from))
	if over := tooLarge(limit); full != "" && errors.Is(err, over) {
		err = full
	}
	return stored, size, err
}

// inboxUse returns the bytes and the number of entries in a workspace's inbox. Directories
// in it count as entries only.
func inboxUse(workspace string) (bytes int64, names int, err error) {
	inbox, err := openInbox(workspace, false)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	defer inbox.Close()
	dir, err := inbox.Open(".")
	if err != nil {
		return 0, 0, fmt.Errorf("open inbox: %w", err)
	}
	defer dir.Close()
	all, err := dir.Readdirnames(maxInboxNames)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, 0, fmt.Errorf("read inbox: %w", err)
	}
	for _, name := range all {
		if info, err := inbox.Lstat(name); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
	}
	return bytes, len(all), nil
}

// countEvery is how often an inbox is counted for those who only look.
const countEvery = time.Minute

// inboxCount is what an inbox held when it was last counted.
type inboxCount struct {
	mu    sync.Mutex
	at    time.Time // zero: never
	bytes int64
}

// Use returns the bytes of the files in the inbox, as they were a minute ago at most; 0 for an inbox
// that cannot be read.
func (b *Inbox) Use() int64 {
	n := &b.counted
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.at.IsZero() || time.Since(n.at) >= countEvery {
		n.bytes, _, _ = inboxUse(b.workspace())
		n.at = time.Now()
	}
	return n.bytes
}

// metered reserves disk space while bytes arrive.
func (f *Fetcher) metered(from io.Reader) io.Reader {
	if f.Disk == nil {
		return from
	}
	return &meter{Reader: from, disk: f.Disk}
}

// meter fails when there is no room for the next bytes. The bytes of one read are on the
// disk before the next read, where the file system counts them.
type meter struct {
	io.Reader
	disk Disk
	left int64 // bytes that may come before room is asked for again
}

func (m *meter) Read(p []byte) (int, error) {
	if m.left <= 0 {
		release, err := m.disk.Reserve(reserveStep)
		if err != nil {
			return 0, errors.Join(syscall.ENOSPC, err)
		}
		release()
		m.left = reserveStep
	}
	n, err := m.Reader.Read(p[:min(int64(len(p)), m.left)])
	m.left -= int64(n)
	return n, err
}
